#include "storage/transfers.h"

#include <chrono>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "storage/conformance.h"
#include "storage/s3/s3_store.h"
#include "storage/served_store.h"
#include "storage/transfer/observer.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kPartBytes = int64_t{5} << 20;

/// Counts the requests that send parts, by the status of their answers.
class PartCounter final : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    parts_[record.http_status] += record.operation.starts_with("write part") ? 1 : 0;
  }
  int parts(int status) {
    const std::lock_guard lock(mutex_);
    return parts_[status];
  }

 private:
  std::mutex mutex_;
  std::map<int, int> parts_;
};

/// False where it takes too long.
bool WaitUntil(const std::function<bool()>& done) {
  const double begin = MonotonicSeconds();
  while (!done() && MonotonicSeconds() - begin < 300) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done();
}

/// A server that behaves as `profile` says.
class TransfersTest : public testing::Test {
 protected:
  ObjectStore& Serve(const std::string& profile = "", int connections = 0) {
    objectserver::ServeOptions serve;
    if (!profile.empty()) {
      serve.profile = folder_.path() + "/profile.yaml";
      std::ofstream(serve.profile) << profile;
    }
    StoreOptions options;
    options.connections = connections;
    options.observer = parts_;
    served_ = std::make_unique<ServedStore>("s3://test/", serve, options);
    return served_->store();
  }
  int64_t received() { return NetworkBytesReceived(served_->server()); }

  std::shared_ptr<PartCounter> parts_ = std::make_shared<PartCounter>();
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("assay-transfers");
  std::unique_ptr<ServedStore> served_;
};

TEST_F(TransfersTest, ManyOfAllSizesComeBackAsTheyWent) {
  ObjectStore& store = Serve();
  Transfers transfers(4);
  std::vector<std::string> contents;
  for (const int64_t bytes : {0, 1, 100, 300'000, 5 << 20, 11 << 20, 6 << 20, 17}) {
    contents.push_back(RandomContent(bytes, contents.size()));
  }
  std::atomic<int> told = 0;
  std::vector<std::shared_ptr<Transfer>> writes;
  for (size_t i = 0; i < contents.size(); ++i) {
    writes.push_back(transfers.Write(store, "key " + std::to_string(i), {AsBytes(contents[i])}, {},
                                     {.on_done = [&told](const Result<ObjectInfo>& result) { told += result.ok(); }}));
  }
  transfers.WaitAll();
  EXPECT_EQ(told, static_cast<int>(contents.size()));
  std::vector<std::string> back(contents.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    ASSERT_TRUE(writes[i]->done());
    ASSERT_THAT(writes[i]->Wait().status(), IsOk());
    EXPECT_EQ((*writes[i]->Wait()).size, static_cast<int64_t>(contents[i].size()));
    transfers.ReadWhole(store, "key " + std::to_string(i), [&back, i](int64_t size) {
      back[i].resize(static_cast<size_t>(size));
      return std::as_writable_bytes(std::span(back[i]));
    });
  }
  transfers.WaitAll();
  EXPECT_EQ(back, contents);
}

TEST_F(TransfersTest, RetriesWhileNobodyWaits) {
  ObjectStore& store = Serve("faults:\n  - {fault: return, status: 503, rate: 0.5, operations: [UploadPart]}\n");
  const std::string content = RandomContent(8 * kPartBytes, 1);
  Transfers transfers;
  const auto write = transfers.Write(store, "key", {AsBytes(content)});
  ASSERT_TRUE(WaitUntil([&] { return write->done(); }));
  EXPECT_GT(parts_->parts(503), 0);
  EXPECT_THAT(write->Wait().status(), IsOk());
}

TEST_F(TransfersTest, PartsOfAStreamAreRetriedWhileItsProducerComputes) {
  ObjectStore& store = Serve("faults:\n  - {fault: return, status: 503, rate: 0.5, operations: [UploadPart]}\n");
  const std::string content = RandomContent(8 * kPartBytes + 1, 1);
  auto writer = store.OpenWriter("key", {});
  ASSERT_THAT(writer.status(), IsOk());
  ASSERT_THAT((*writer)->Write(AsBytes(content)), IsOk());
  // Not a word to the writer until all of its parts but the last have arrived.
  EXPECT_TRUE(WaitUntil([this] { return parts_->parts(200) == 8; }));
  EXPECT_GT(parts_->parts(503), 0);
  ASSERT_THAT((*writer)->Commit().status(), IsOk());
}

TEST_F(TransfersTest, WhatIsCancelledEndsSoonAndLeavesNothing) {
  ObjectStore& store = Serve("bandwidth: {connection: 1MiB}\n");
  const std::string content = RandomContent(4 * kPartBytes, 1);
  Transfers transfers(1);
  const auto running = transfers.Write(store, "running", {AsBytes(content)});
  const auto waiting = transfers.Write(store, "waiting", {AsBytes(content)});
  ASSERT_TRUE(WaitUntil([this] { return received() > 100'000; }));
  waiting->Cancel();
  running->Cancel();
  EXPECT_THAT(running->Wait().status(), HasCode(ErrorCode::kAborted));
  EXPECT_THAT(waiting->Wait().status(), HasCode(ErrorCode::kAborted));
  EXPECT_THAT(*store.ListUploads(""), IsEmpty());
  EXPECT_THAT(store.List({})->objects, IsEmpty());
}

TEST_F(TransfersTest, GoneWithTransfersUnderWayTheyAreCancelled) {
  ObjectStore& store = Serve("bandwidth: {connection: 1MiB}\n");
  const std::string content = RandomContent(4 * kPartBytes, 1);
  std::vector<std::shared_ptr<Transfer>> writes;
  {
    Transfers transfers(2);
    for (int i = 0; i < 5; ++i) {
      writes.push_back(transfers.Write(store, std::to_string(i), {AsBytes(content)}));
    }
  }
  for (const auto& write : writes) {
    ASSERT_TRUE(write->done());
    EXPECT_THAT(write->Wait().status(), HasCode(ErrorCode::kAborted));
  }
}

TEST_F(TransfersTest, HigherPrioritiesBeginFirst) {
  ObjectStore& store = Serve();
  Transfers transfers(1);
  std::vector<int> ended;  // by the only lane, which the first one keeps until the others wait
  std::latch all_wait(1);
  const std::string content = "content";
  const auto write = [&](int priority) {
    transfers.Write(store, std::to_string(priority), {AsBytes(content)}, {},
                    {.priority = priority, .on_done = [&, priority](const auto&) {
                       all_wait.wait();
                       ended.push_back(priority);
                     }});
  };
  for (const int priority : {9, 1, 3, 2}) {
    write(priority);
  }
  all_wait.count_down();
  transfers.WaitAll();
  EXPECT_THAT(ended, ElementsAre(9, 3, 2, 1));
}

TEST_F(TransfersTest, OneMayStartTheNextFromItsEnd) {
  ObjectStore& store = Serve();
  const std::string content = "content";
  Transfers transfers(1);
  transfers.Write(store, "data", {AsBytes(content)}, {}, {.on_done = [&](const Result<ObjectInfo>& data) {
                    transfers.Write(store, data.ok() ? "marker" : "none", {AsBytes(content)});
                  }});
  transfers.WaitAll();
  EXPECT_TRUE(store.Stat("marker")->has_value());
}

TEST_F(TransfersTest, WhatAnEndStartsWhileAllAreGivenUpIsCancelled) {
  ObjectStore& store = Serve("bandwidth: {connection: 1MiB}\n");
  const std::string content = RandomContent(4 * kPartBytes, 1);
  std::vector<std::shared_ptr<Transfer>> late;
  {
    Transfers transfers(8);
    transfers.Write(store, "key", {AsBytes(content)}, {}, {.on_done = [&](const Result<ObjectInfo>&) {
                      for (int i = 0; i < 4; ++i) {
                        late.push_back(transfers.Write(store, std::to_string(i), {AsBytes(content)}));
                      }
                    }});
    ASSERT_TRUE(WaitUntil([this] { return received() > 0; }));
  }
  ASSERT_EQ(late.size(), 4u);
  for (const auto& write : late) {
    ASSERT_TRUE(write->done());
    EXPECT_THAT(write->Wait().status(), HasCode(ErrorCode::kAborted));
  }
}

/// Of this process.
int Threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) {
      return std::stoi(line.substr(8));
    }
  }
  return 0;
}

TEST_F(TransfersTest, AnUploadThatIsCancelledAsItBeginsIsNotLeft) {
  ObjectStore& store = Serve("latency:\n  write: {median: 400ms, p99: 400ms}\n");
  const std::string content = RandomContent(4 * kPartBytes, 1);
  Transfers transfers(1);
  const auto write = transfers.Write(store, "key", {AsBytes(content)});
  ASSERT_TRUE(WaitUntil([this] { return received() > 0; }));
  write->Cancel();
  EXPECT_THAT(write->Wait().status(), HasCode(ErrorCode::kAborted));
  // Until the server has done all that it was asked.
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_THAT(*store.ListUploads(""), IsEmpty());
}

TEST_F(TransfersTest, ThousandsUnderWayHoldAHandfulOfThreads) {
  constexpr size_t kCount = 1500;
  ObjectStore& store = Serve("latency:\n  read: {median: 10ms, p99: 10ms}\n", 32);
  const std::string content = RandomContent(1000, 1);
  const Bytes bytes = AsBytes(content);
  ASSERT_THAT(store.Write("key", std::span(&bytes, 1), {}).status(), IsOk());
  const int before = Threads();
  std::vector<std::string> back(kCount, std::string(content.size(), '?'));
  std::atomic<int> ended = 0;
  int most = 0;
  Transfers transfers(kCount);
  for (std::string& memory : back) {
    transfers.Read(store, "key", {{0, std::as_writable_bytes(std::span(memory))}}, {},
                   {.on_done = [&ended](const Result<ObjectInfo>& result) { ended += result.ok(); }});
  }
  while (ended < static_cast<int>(kCount) / 2) {
    most = std::max(most, Threads() - before);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  transfers.WaitAll();
  EXPECT_EQ(ended, static_cast<int>(kCount));
  EXPECT_THAT(back, Each(content));
  EXPECT_LE(most, 8);
}

/// Whose service does not answer until it is told to.
class SlowSigner final : public Signer {
 public:
  Status Prepare() override {
    ++prepared;
    while (!answers) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    has = true;
    return Status::Ok();
  }
  Need need() const override { return has ? Need::kNothing : Need::kMust; }
  Status Sign(http::Request&, std::string_view) override { return Status::Ok(); }
  Result<std::string> Presign(const http::Request&, int64_t) override { return Status::Unsupported(""); }
  void Expire() override { has = false; }
  std::string Describe() const override { return "slow"; }

  std::atomic<int> prepared = 0;
  std::atomic<bool> answers = false;
  std::atomic<bool> has = false;
};

TEST_F(TransfersTest, WhoWaitsForCredentialsCanBeCancelledAndAllWaitForThemOnce) {
  Serve();
  auto signer = std::make_unique<SlowSigner>();
  SlowSigner& slow = *signer;
  const auto address = S3Address::Make("test", served_->url(), "us-east-1");
  S3Store store(std::make_unique<S3Dialect>(*address, "us-east-1", StoreOptions()), std::move(signer), {});
  const std::string content = "content";
  Transfers transfers;
  const auto given_up = transfers.Write(store, "given up", {AsBytes(content)});
  std::vector<std::shared_ptr<Transfer>> writes;
  for (int i = 0; i < 100; ++i) {
    writes.push_back(transfers.Write(store, std::to_string(i), {AsBytes(content)}));
  }
  ASSERT_TRUE(WaitUntil([&slow] { return slow.prepared > 0; }));
  given_up->Cancel();
  EXPECT_THAT(given_up->Wait().status(), HasCode(ErrorCode::kAborted));
  slow.answers = true;
  for (const auto& write : writes) {
    EXPECT_THAT(write->Wait().status(), IsOk());
  }
  EXPECT_EQ(slow.prepared, 1);
  EXPECT_FALSE(store.Stat("given up")->has_value());
}

/// Cancels once the store has said that an object stands.
class CancelAfterPut final : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override { cancel = cancel || record.http_status == 200; }
  std::atomic<bool> cancel = false;
};

TEST(Cancelled, WhatStandsByThenIsWritten) {
  const auto observer = std::make_shared<CancelAfterPut>();
  ServedStore served("s3://test/", {}, {.observer = observer});
  const Bytes content = AsBytes("content");
  EXPECT_THAT(served.store().Write("one", std::span(&content, 1), {.cancel = &observer->cancel}).status(), IsOk());
  observer->cancel = false;
  const ObjectWrite write = {"of many", content};
  EXPECT_THAT(served.store().WriteMany(std::span(&write, 1), {.cancel = &observer->cancel}).front(), IsOk());
}

/// Parts of two objects over two connections: a small object does not wait until a large one is over.
TEST_F(TransfersTest, ALargeObjectLeavesOthersTheirTurn) {
  ObjectStore& store = Serve("bandwidth: {connection: 20MiB}\n", 2);
  const std::string large = RandomContent(24 * kPartBytes, 1);
  const std::string small = RandomContent(3 * kPartBytes, 2);
  Transfers transfers;
  const auto first = transfers.Write(store, "large", {AsBytes(large)});
  ASSERT_TRUE(WaitUntil([this] { return received() > kPartBytes; }));
  const auto second = transfers.Write(store, "small", {AsBytes(small)});
  EXPECT_THAT(second->Wait().status(), IsOk());
  EXPECT_FALSE(first->done());
  EXPECT_THAT(store.Stat("small").status(), IsOk());
  first->Cancel();
}

}  // namespace
}  // namespace assay::storage
