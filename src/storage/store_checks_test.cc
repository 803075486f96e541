#include "storage/store_checks.h"

#include <atomic>
#include <string>

#include "storage/conformance.h"

namespace assay::storage {
namespace {

TEST(CheckExpected, TellsAMismatchFromOtherFailures) {
  const std::string content = "content";
  const Bytes pieces[] = {AsBytes(content).first(3), AsBytes(content).subspan(3)};
  WriteOptions options{.expected = ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content))};
  EXPECT_THAT(CheckExpected(options, pieces, "s3://b/k"), IsOk());
  const Status mismatch = CheckExpected(options, std::span(pieces).first(1), "s3://b/k");
  EXPECT_THAT(mismatch, HasCode(ErrorCode::kIo));
  EXPECT_TRUE(IsChecksumMismatch(mismatch));
  EXPECT_TRUE(IsChecksumMismatch(mismatch.WithContext("within")));
  EXPECT_FALSE(IsChecksumMismatch(Status::Ok()));
  EXPECT_FALSE(IsChecksumMismatch(Status::Io("the connection was reset")));
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
