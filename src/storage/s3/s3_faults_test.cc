// What the transfer engine does when a store is slow, forgetful or broken, against a store that follows a script.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/s3/s3_store.h"
#include "storage/s3/scripted_s3.h"
#include "storage/transfer/observer.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::HasSubstr;

class CountingSigner : public Signer {
 public:
  Status Prepare() override { return Status::Ok(); }
  Need need() const override { return Need::kNothing; }
  Status Sign(http::Request& request, std::string_view) override {
    request.headers.Set("x-credentials", std::to_string(expired_.load()));
    return Status::Ok();
  }
  Result<std::string> Presign(const http::Request&, int64_t) override { return Status::Unsupported("no"); }
  void Expire() override { ++expired_; }
  std::string Describe() const override { return "counting"; }
  int expired() const { return expired_; }

 private:
  std::atomic<int> expired_ = 0;
};

class ReissueObserver : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override { reissues_ += record.reissue; }
  int reissues() const { return reissues_; }

 private:
  std::atomic<int> reissues_ = 0;
};

class S3FaultsTest : public testing::Test {
 protected:
  void Open(const ScriptedS3& server) {
    StoreOptions options;
    options.endpoint = server.url();
    options.part_bytes = kMiB;
    options.connections = 4;
    options.max_attempts = 3;
    options.own["conditional_writes"] = "yes";  // this server is asked for nothing else
    options.deadline_seconds = deadline_seconds_;
    options.observer = observer_;
    auto address = S3Address::Make("bucket", options.endpoint, "us-east-1");
    ASSERT_THAT(address.status(), IsOk());
    auto signer = std::make_unique<CountingSigner>();
    signer_ = signer.get();
    store_ = std::make_unique<S3Store>(std::make_unique<S3Dialect>(*address, "us-east-1", options), std::move(signer),
                                       options);
  }
  Result<ObjectInfo> ReadWhole(const ReadOptions& options = {}) {
    return store_->ReadWhole(
        "k",
        [this](int64_t size) {
          memory_.assign(static_cast<size_t>(size), '?');
          return std::as_writable_bytes(std::span(memory_));
        },
        options);
  }
  Result<ObjectInfo> Create(const std::string& content) {
    const Bytes buffers[] = {AsBytes(content)};
    WriteOptions options;
    options.condition.kind = WriteCondition::Kind::kAbsent;
    return store_->Write("k", buffers, options);
  }

  double deadline_seconds_ = 0;
  std::shared_ptr<ReissueObserver> observer_ = std::make_shared<ReissueObserver>();
  CountingSigner* signer_ = nullptr;
  std::unique_ptr<S3Store> store_;
  std::string memory_;
};

TEST_F(S3FaultsTest, ASlowPartIsAskedForAgain) {
  std::atomic<int> slow = 0;
  ScriptedS3 server([&slow](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.headers.Find("range") == "bytes=31457280-32505855" && slow++ == 0) {
      response.delay_seconds = 3600;
    }
  });
  const std::string content = RandomContent(40 * kMiB, 1);
  server.SetContent(content);
  Open(server);
  ASSERT_THAT(ReadWhole().status(), IsOk());
  EXPECT_TRUE(memory_ == content);
  EXPECT_GE(observer_->reissues(), 1);
}

TEST_F(S3FaultsTest, ALostAnswerOfACreateIsOurs) {
  std::atomic<int> puts = 0;
  ScriptedS3 server([&puts](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "PUT" && puts++ == 0) {
      response.cut = http::CutKind::kReset;
    }
  });
  Open(server);
  EXPECT_THAT(Create("mine").status(), IsOk());
  EXPECT_EQ(puts, 2);
  EXPECT_EQ(Create("another's").status().code(), ErrorCode::kFailedPrecondition);
}

// The connection is one that was kept: the request goes out again on another, below the store's own attempts.
TEST_F(S3FaultsTest, ALostAnswerOfACreateOnAKeptConnectionIsOurs) {
  std::atomic<int> puts = 0;
  ScriptedS3 server([&puts](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "PUT" && puts++ == 0) {
      response.cut = http::CutKind::kReset;
    }
  });
  Open(server);
  ASSERT_THAT(store_->Stat("k").value(), testing::Eq(std::nullopt));
  EXPECT_THAT(Create("mine").status(), IsOk());
  EXPECT_EQ(puts, 2);
  EXPECT_EQ(Create("another's").status().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(S3FaultsTest, ExpiredCredentialsAreRenewedOnceInTheMiddle) {
  ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
    const auto offset = head.headers.Find("range").value_or("");
    if (head.headers.Find("x-credentials") == "0" && !offset.starts_with("bytes=0-")) {
      response = http::TextResponse(400, "<Error><Code>ExpiredToken</Code></Error>");
    }
  });
  const std::string content = RandomContent(5 * kMiB, 1);
  server.SetContent(content);
  Open(server);
  ASSERT_THAT(ReadWhole().status(), IsOk());
  EXPECT_TRUE(memory_ == content);
  EXPECT_EQ(signer_->expired(), 1);
}

TEST_F(S3FaultsTest, AFlippedBitIsFoundAndReadAgain) {
  std::atomic<int> flips = 0;
  ScriptedS3 server([&flips](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.headers.Find("range") == "bytes=1048576-2097151" && flips++ == 0) {
      response.body = {http::BodyPiece::Text(std::string(kMiB, 'x'))};
    }
  });
  const std::string content = RandomContent(3 * kMiB, 1);
  server.SetContent(content);
  Open(server);
  ASSERT_THAT(ReadWhole().status(), IsOk());
  EXPECT_TRUE(memory_ == content);
  EXPECT_EQ(flips, 2);
}

TEST_F(S3FaultsTest, ContentThatStaysWrongIsAnError) {
  ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.headers.Find("range") == "bytes=1048576-2097151") {
      response.body = {http::BodyPiece::Text(std::string(kMiB, 'x'))};
    }
  });
  server.SetContent(RandomContent(3 * kMiB, 1));
  Open(server);
  const auto result = ReadWhole();
  EXPECT_EQ(result.status().code(), ErrorCode::kIo);
  EXPECT_THAT(result.status().message(), HasSubstr("crc64nvme"));
}

// Asked one by one, no question would come before the answer to the one before it has gone out.
TEST_F(S3FaultsTest, ManyWritesThatWereRefusedAreAskedForAtATime) {
  constexpr double kAnswerSeconds = 0.2;
  std::mutex mutex;
  std::vector<double> asked;  // guarded by mutex
  ScriptedS3 server([&](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "HEAD") {
      const std::lock_guard lock(mutex);
      asked.push_back(MonotonicSeconds());
      response.delay_seconds = kAnswerSeconds;
    }
  });
  server.SetContent("x");
  Open(server);
  std::vector<ObjectWrite> writes;
  for (const char* key : {"a", "b", "c", "d"}) {
    writes.push_back({key, {}});
  }
  WriteOptions options;
  options.condition.kind = WriteCondition::Kind::kAbsent;
  EXPECT_THAT(store_->WriteMany(writes, options), Each(HasCode(ErrorCode::kFailedPrecondition)));
  ASSERT_EQ(asked.size(), writes.size());
  const auto at_a_time = [](double one, double next) { return next - one < kAnswerSeconds; };
  EXPECT_NE(std::ranges::adjacent_find(asked, at_a_time), asked.end());
}

TEST_F(S3FaultsTest, AnOutageSaysHowOftenItWasTried) {
  ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
    response = http::TextResponse(503, "<Error><Code>SlowDown</Code><Message>slow</Message></Error>");
  });
  server.SetContent("x");
  Open(server);
  EXPECT_THAT(ReadWhole().status().message(), HasSubstr("503 SlowDown: slow (3 attempts)"));
}

TEST_F(S3FaultsTest, AStoreThatAsksToWaitForAnHourIsNotWaitedFor) {
  std::atomic<int> requests = 0;
  ScriptedS3 server([&requests](const http::RequestHead& head, http::ServerResponse& response) {
    ++requests;
    response = http::TextResponse(503, "<Error><Code>SlowDown</Code></Error>");
    response.headers.Add("Retry-After", "3600");
  });
  server.SetContent("x");
  Open(server);
  EXPECT_THAT(ReadWhole().status().message(), HasSubstr("the store asks to wait 3600 s"));
  EXPECT_EQ(requests, 1);
}

TEST_F(S3FaultsTest, TheDeadlineEndsAllRetries) {
  ScriptedS3 server(
      [](const http::RequestHead& head, http::ServerResponse& response) { response.delay_seconds = 3600; });
  server.SetContent("x");
  deadline_seconds_ = 0.1;
  Open(server);
  const double start = MonotonicSeconds();
  EXPECT_THAT(ReadWhole().status().message(), HasSubstr("deadline"));
  EXPECT_LT(MonotonicSeconds() - start, 1800);
}

TEST_F(S3FaultsTest, CancelEndsAWait) {
  std::atomic<bool> cancel = false;
  ScriptedS3 server([&cancel](const http::RequestHead& head, http::ServerResponse& response) {
    response.delay_seconds = 3600;
    cancel = true;
  });
  server.SetContent("x");
  Open(server);
  EXPECT_EQ(ReadWhole({.cancel = &cancel}).status().code(), ErrorCode::kAborted);
}

}  // namespace
}  // namespace assay::storage
