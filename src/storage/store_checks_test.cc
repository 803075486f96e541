#include "storage/store_checks.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "storage/conformance.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

TEST(StatExisting, AsksNoMoreOfAStoreThatFailed) {
  class FailingStore final : public ForwardingStore {
   public:
    FailingStore() : ForwardingStore(std::make_shared<MemoryStore>("m")) {}
    Result<std::optional<ObjectInfo>> Stat(const std::string&, CancelFlag) override {
      ++asked;
      return Status::Io("the network is gone");
    }
    std::atomic<int> asked = 0;
  };
  FailingStore store;
  const std::vector<std::string> keys(1000, "k");
  EXPECT_THAT(StatExisting(store, keys, "publish").status(), HasCode(ErrorCode::kIo));
  EXPECT_LE(store.asked, 100) << "those that were asked side by side";
}

TEST(CheckExpected, TellsAMismatchFromOtherFailures) {
  const std::string content = "content";
  const Bytes pieces[] = {AsBytes(content).first(3), AsBytes(content).subspan(3)};
  WriteOptions options{.expected = ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content))};
  EXPECT_THAT(CheckExpected(options, pieces, "s3://b/k"), IsOk());
  const Status mismatch = CheckExpected(options, std::span(pieces).first(1), "s3://b/k");
  EXPECT_THAT(mismatch, HasCode(ErrorCode::kIo));
  const Checksum found = ChecksumOf(ChecksumKind::kCrc32c, pieces[0]);
  EXPECT_EQ(ChecksumMismatchOf(mismatch, "write", "s3://b/k"),
            "its crc32c is " + found.Hex() + " and not " + options.expected->Hex());
  EXPECT_EQ(ChecksumMismatchOf(Status::Ok(), "write", "s3://b/k"), std::nullopt);
  EXPECT_EQ(ChecksumMismatchOf(Status::Io("the connection was reset"), "write", "s3://b/k"), std::nullopt);
  const Status outage = Status::Io("cannot write s3://b/k: 503 SlowDown: " + mismatch.message());
  EXPECT_EQ(ChecksumMismatchOf(outage, "write", "s3://b/k"), std::nullopt);
}

TEST(CheckExpected, EndsWhereTheWriteIsCancelled) {
  const std::atomic<bool> cancel = true;
  const std::string content = "content";
  const Bytes pieces[] = {AsBytes(content)};
  const WriteOptions options{.expected = ChecksumOf(ChecksumKind::kMd5, {}), .cancel = &cancel};
  EXPECT_THAT(CheckExpected(options, pieces, "s3://b/k"), HasCode(ErrorCode::kAborted));
}

}  // namespace
}  // namespace assay::storage
