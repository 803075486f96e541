#include "base/status.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <memory>

namespace assay {
namespace {

using ::testing::HasSubstr;

Result<int> Half(int number) {
  if (number % 2 != 0) {
    return Status::InvalidArgument("odd");
  }
  return number / 2;
}

Result<int> Quarter(int number) {
  ASSAY_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

Status CheckQuarter(int number) {
  ASSAY_RETURN_IF_ERROR(Quarter(number).status());
  return Status::Ok();
}

TEST(StatusTest, ErrorsTravelThroughTheMacros) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(CheckQuarter(8).ok());
  EXPECT_EQ(CheckQuarter(3).code(), ErrorCode::kInvalidArgument);
}

TEST(StatusTest, ContextComesBeforeTheMessageOfAnError) {
  EXPECT_EQ(Status::Io("disk").WithContext("save").message(), "save: disk");
  EXPECT_EQ(Status::Io("disk").WithContext("save").code(), ErrorCode::kIo);
  EXPECT_TRUE(Status::Ok().WithContext("save").ok());
}

TEST(StatusTest, ExitCodesTellTheUsersMistakeFromAFailedRun) {
  EXPECT_EQ(ExitCode(Status::Ok()), 0);
  EXPECT_EQ(ExitCode(Status::InvalidArgument("")), 2);
  EXPECT_EQ(ExitCode(Status::NotFound("")), 2);
  EXPECT_EQ(ExitCode(Status::PermissionDenied("")), 2);
  EXPECT_EQ(ExitCode(Status::FailedPrecondition("")), 2);
  EXPECT_EQ(ExitCode(Status::Unsupported("")), 2);
  EXPECT_EQ(ExitCode(Status::Io("")), 1);
  EXPECT_EQ(ExitCode(Status::OutOfMemory("")), 1);
  EXPECT_EQ(ExitCode(Status::Internal("")), 1);
  EXPECT_EQ(ExitCode(Status::Aborted("")), 130);
}

TEST(StatusTest, ErrnoIsTranslatedWithAdvice) {
  const Status full = ErrnoStatus(ENOSPC, "write", "runs.db");
  EXPECT_EQ(full.code(), ErrorCode::kIo);
  EXPECT_THAT(full.message(), HasSubstr("cannot write runs.db: No space left on device (free some space"));
  EXPECT_EQ(ErrnoStatus(ENOENT, "open", "x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EIO, "read", "x").message(), "cannot read x: Input/output error");
}

TEST(ResultTest, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace assay
