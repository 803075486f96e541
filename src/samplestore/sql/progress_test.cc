#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "samplestore/testing/store_target.h"

namespace assay::samplestore {
namespace {

using ::testing::IsEmpty;
using testing::Must;
using ::testing::SizeIs;

class ProgressTest : public testing::StoreTest {};

TEST_P(ProgressTest, IsSeenByOthersAsItIsNow) {
  const auto reader = Must(target_->Open(StoreAccess::kReadOnly));
  EXPECT_THAT(Must(reader->ListProgress()), IsEmpty()) << "a store in which nothing ever went on";
  ASSERT_TRUE(store_->SetProgress("a", "me", "{\"step\":1}").ok());
  const std::vector<Progress> first = Must(reader->ListProgress());
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].operation_uid, "a");
  EXPECT_EQ(first[0].state, "{\"step\":1}");
  ASSERT_TRUE(store_->SetProgress("a", "me", "{\"step\":2}").ok());
  const std::vector<Progress> second = Must(reader->ListProgress());
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].state, "{\"step\":2}");
  EXPECT_GT(second[0].version, first[0].version);
  ASSERT_TRUE(store_->EndProgress("a").ok());
  EXPECT_THAT(Must(reader->ListProgress()), IsEmpty());
}

TEST_P(ProgressTest, OperationsOfSeveralProcessesStandSideBySide) {
  const auto other = Open();
  ASSERT_TRUE(store_->SetProgress("a", "me", "1").ok());
  ASSERT_TRUE(other->SetProgress("b", "somebody", "2").ok());
  EXPECT_THAT(Must(Open()->ListProgress()), SizeIs(2));
  ASSERT_TRUE(store_->EndProgress("a").ok());
  ASSERT_TRUE(store_->EndProgress("a").ok());
  EXPECT_THAT(Must(Open()->ListProgress()), SizeIs(1));
}

TEST_P(ProgressTest, OfAProcessThatWasKilledNothingIsSeen) {
  std::string owner = MakeClaimOwner();
  ASSERT_TRUE(store_->SetProgress("alive", owner, "1").ok());
  const std::string pid = fmt::format(" {} ", ::getpid());
  const size_t at = owner.find(pid);
  ASSERT_NE(at, std::string::npos) << owner;
  owner.replace(at, pid.size(), " 4194000 ");
  ASSERT_TRUE(store_->SetProgress("killed", owner, "2").ok());
  const auto rows = Must(Open()->ListProgress());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].operation_uid, "alive");
}

ASSAY_FOR_EACH_STORE(ProgressTest);

}  // namespace
}  // namespace assay::samplestore
