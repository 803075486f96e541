#include "launch/launcher.h"

namespace assay::launch {

Result<job::RunRecord> Launcher::Run(const job::Plan& plan, const LaunchOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto submission, Submit(plan, options));
  ASSAY_RETURN_IF_ERROR(submission->Follow());
  return submission->Outcome();
}

Result<std::string> Launcher::Ask(const std::vector<std::string>& command) {
  return Status::Internal(command.front() + " is to be run elsewhere, and ranks run here");
}

Status EndStatus(const job::RunRecord& record) {
  switch (record.end) {
    case job::RunEnd::kDone:
      return Status::Ok();
    case job::RunEnd::kOutOfMemory:
      return Status::OutOfMemory(record.reason);
    case job::RunEnd::kInvalid:
      return Status::InvalidArgument(record.reason);
    case job::RunEnd::kInterrupted:
      return Status::Aborted(record.reason);
    case job::RunEnd::kDiverged:
    case job::RunEnd::kError:
    case job::RunEnd::kKilled:
    case job::RunEnd::kVanished:
    case job::RunEnd::kLost:
      return Status::Internal(record.reason);
  }
  return Status::Internal(record.reason);
}

}  // namespace assay::launch
