// The remote stores on a bad day: every operation ends right or with one clear line, never wrong.
#include <atomic>
#include <map>
#include <random>
#include <set>

#include "http/scripted_peer.h"
#include "storage/conformance.h"
#include "storage/open.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

struct Outcomes {
  int right = 0;
  int failed = 0;
  std::vector<std::string> wrong;
  std::vector<std::string> messages;
};

// What may stand under each key: after a write that failed the old content or the new.
class Model {
 public:
  void Wrote(const std::string& key, const std::string& content, bool certain) {
    std::set<std::string>& contents = Of(key);
    if (certain) {
      contents.clear();
    }
    contents.insert(content);
  }
  void Removed(const std::string& key, bool certain) { Wrote(key, "", certain); }
  /// Nothing is "": no object of the test is empty.
  bool MayBe(const std::string& key, const std::string& content) { return Of(key).contains(content); }
  void Saw(const std::string& key, const std::string& content) { Wrote(key, content, true); }

 private:
  std::set<std::string>& Of(const std::string& key) {
    return contents_.try_emplace(key, std::set<std::string>{""}).first->second;
  }
  std::map<std::string, std::set<std::string>> contents_;
};

class BadDay {
 public:
  BadDay(const ServedCase& served, uint64_t seed)
      : random_(seed), served_(served.uri, ServeOptions(seed), Impatient(served), served.access) {}

  int temporary_keys_given() const { return served_.temporary_keys_given(); }

  Outcomes Run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const std::string key = "key/" + std::to_string(random_() % 12);
      switch (random_() % 8) {
        case 0:
        case 1:
          Write(key, 1 + random_() % 100'000, false);
          break;
        case 2:
          Write(key, 1 + random_() % (i % 8 == 0 ? 12'000'000 : 200'000), true);
          break;
        case 3:
          Remove(key);
          break;
        case 4:
          Create(key);
          break;
        default:
          Read(key);
      }
    }
    return outcomes_;
  }

 private:
  static objectserver::ServeOptions ServeOptions(uint64_t seed) {
    objectserver::ServeOptions serve;
    serve.profile = std::string(ASSAY_SOURCE_DIR) + "/share/profiles/bad-day.yaml";
    serve.seed = seed;
    return serve;
  }
  static StoreOptions Impatient(const ServedCase& served) {
    StoreOptions options = OptionsOf(served);
    options.stall_timeout_seconds = 1;
    return options;
  }
  ObjectStore& store() { return served_.store(); }

  bool Count(const Status& status) {
    ++(status.ok() ? outcomes_.right : outcomes_.failed);
    if (!status.ok()) {
      outcomes_.messages.push_back(status.message());
    }
    return status.ok();
  }

  void Write(const std::string& key, size_t bytes, bool streamed) {
    const std::string content = RandomContent(static_cast<int64_t>(bytes), random_());
    const Bytes buffer = AsBytes(content);
    Status status;
    if (streamed) {
      auto writer = store().OpenWriter(key, WriteOptions());
      status = writer.ok() ? (*writer)->Write(buffer) : writer.status();
      status = status.ok() ? (*writer)->Commit().status() : status;
    } else {
      status = store().Write(key, std::span(&buffer, 1), WriteOptions()).status();
    }
    model_.Wrote(key, content, Count(status));
  }

  // One that finds something there is right to say so.
  void Create(const std::string& key) {
    const std::string content = RandomContent(1000, random_());
    const Bytes buffer = AsBytes(content);
    WriteOptions options;
    options.condition.kind = WriteCondition::Kind::kAbsent;
    const Status status = store().Write(key, std::span(&buffer, 1), options).status();
    if (status.code() == ErrorCode::kFailedPrecondition) {
      ++outcomes_.right;
      return;
    }
    model_.Wrote(key, content, Count(status));
  }

  void Remove(const std::string& key) { model_.Removed(key, Count(store().Remove(key))); }

  void Read(const std::string& key) {
    std::string content;
    const auto allocate = [&](int64_t size) {
      content.assign(static_cast<size_t>(size), '?');
      return std::as_writable_bytes(std::span(content));
    };
    const Status status = store().ReadWhole(key, allocate, ReadOptions()).status();
    if (status.code() == ErrorCode::kNotFound) {
      content.clear();
    } else if (!Count(status)) {
      return;
    }
    if (!model_.MayBe(key, content)) {
      outcomes_.wrong.push_back(key + " of " + std::to_string(content.size()) + " bytes");
    }
    model_.Saw(key, content);
  }

  std::mt19937_64 random_;
  ServedStore served_;
  Model model_;
  Outcomes outcomes_;
};

class RemoteStoreFaults : public testing::TestWithParam<ServedCase> {};

void ExpectRightOrClear(const Outcomes& outcomes, int most_failed) {
  EXPECT_THAT(outcomes.wrong, testing::IsEmpty());
  // Retries hide nearly all of it.
  EXPECT_LE(outcomes.failed, most_failed) << testing::PrintToString(outcomes.messages);
  for (const std::string& message : outcomes.messages) {
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_THAT(message, testing::HasSubstr("test"));
  }
}

TEST_P(RemoteStoreFaults, EndRightOrWithAClearError) {
  ExpectRightOrClear(BadDay(GetParam(), 17).Run(150), 8);
}

std::vector<ServedCase> FaultyCases() {
  std::vector<ServedCase> cases(std::begin(kServedCases), std::end(kServedCases));
  cases.push_back(kKmsCase);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Served, RemoteStoreFaults, testing::ValuesIn(FaultyCases()),
                         [](const auto& info) { return std::string(info.param.name); });

// Each key serves for two seconds: some end while requests that they signed are on their way.
TEST(TemporaryKeys, EndInTheMiddleOfABadDay) {
  BadDay day({"s3_temporary", "s3://test/", Access::kTemporaryKeys, true}, 19);
  Outcomes outcomes;
  int operations = 0;
  for (; day.temporary_keys_given() < 4; operations += 20) {
    outcomes = day.Run(20);
  }
  ExpectRightOrClear(outcomes, 1 + operations / 15);
}

/// A store that takes requests and answers none; the first sets `asked`.
class MuteStoreTest : public testing::TestWithParam<const char*> {
 protected:
  MuteStoreTest() {
    StoreOptions options;
    options.anonymous = true;
    options.endpoint = mute_.url();
    options.region = "us-east-1";
    auto opened = OpenStore(GetParam(), options);
    EXPECT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }

  std::atomic<bool> asked_ = false;
  const http::ScriptedPeer mute_{[this](http::PeerSocket& socket, int) {
    socket.ReceiveHead();
    asked_ = true;
    socket.AwaitEnd();
  }};
  std::shared_ptr<ObjectStore> store_;
};

TEST_P(MuteStoreTest, AListingEndsWhenItIsCancelled) {
  EXPECT_THAT(store_->List({.cancel = &asked_}).status(), HasCode(ErrorCode::kAborted));
}

TEST_P(MuteStoreTest, AStatEndsWhenItIsCancelled) {
  EXPECT_THAT(store_->Stat("key", &asked_).status(), HasCode(ErrorCode::kAborted));
}

TEST_P(MuteStoreTest, RemovalsEndWhenTheyAreCancelled) {
  const std::string keys[] = {"a", "b", "c\x01"};
  EXPECT_THAT(store_->RemoveMany(keys, &asked_), testing::Each(HasCode(ErrorCode::kAborted)));
}

INSTANTIATE_TEST_SUITE_P(Stores, MuteStoreTest, testing::Values("s3://test/", "gs://test/", "oci://test@assay/"),
                         [](const auto& info) { return std::string(info.param).substr(0, 2); });

}  // namespace
}  // namespace assay::storage
