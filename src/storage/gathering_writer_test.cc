#include "storage/gathering_writer.h"

#include <gmock/gmock.h>

#include "storage/conformance.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

class GatheringWriterTest : public testing::Test {
 protected:
  std::unique_ptr<GatheringWriter> Open(const std::string& key) {
    return std::make_unique<GatheringWriter>(store_, budget_, key, WriteOptions());
  }

  const std::string mebibyte_ = RandomContent(1 << 20, 1);
  MemoryStore store_{"test"};
  MemoryPool budget_{2 << 20};
};

TEST_F(GatheringWriterTest, WritersShareOneBudget) {
  const auto first = Open("first");
  const auto second = Open("second");
  const auto third = Open("third");
  ASSERT_THAT(first->Write(AsBytes(mebibyte_)), IsOk());
  ASSERT_THAT(second->Write(AsBytes(mebibyte_)), IsOk());
  const Status refused = third->Write(AsBytes(mebibyte_));
  EXPECT_THAT(refused, HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(refused.message(), HasSubstr("2097152 bytes together"));
  EXPECT_THAT(third->Commit().status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(first->Commit().status(), IsOk());
  EXPECT_FALSE(store_.Stat("third")->has_value());
}

TEST_F(GatheringWriterTest, GivesBackWhatItHeldWhenItEnds) {
  for (int i = 0; i < 3; ++i) {
    const auto committed = Open("k");
    EXPECT_THAT(committed->Write(AsBytes(mebibyte_)), IsOk());
    EXPECT_THAT(committed->Commit().status(), IsOk());
    EXPECT_THAT(committed->Commit().status(), HasCode(ErrorCode::kFailedPrecondition));
    const auto aborted = Open("k");
    EXPECT_THAT(aborted->Write(AsBytes(mebibyte_ + mebibyte_)), IsOk());
    aborted->Abort();
    const auto left = Open("k");
    EXPECT_THAT(left->Write(AsBytes(mebibyte_ + mebibyte_)), IsOk());
  }
}

}  // namespace
}  // namespace assay::storage
