#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace assay {

Status Status::WithContext(std::string_view context) const {
  if (ok()) {
    return *this;
  }
  return {code_, std::string(context) + ": " + message_};
}

int ExitCode(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kOk:
      return 0;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kFailedPrecondition:
    case ErrorCode::kUnsupported:
      return 2;
    case ErrorCode::kAborted:
      return 130;
    case ErrorCode::kIo:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kInternal:
      return 1;
  }
  return 1;
}

namespace {

struct ErrnoAdvice {
  int value;
  ErrorCode code;
  const char* advice;
};

constexpr ErrnoAdvice kErrnoAdvice[] = {
    {ENOENT, ErrorCode::kNotFound, "check the path"},
    {ENOTDIR, ErrorCode::kInvalidArgument, "a part of the path is a file"},
    {EISDIR, ErrorCode::kInvalidArgument, "name a file, not a folder"},
    {EACCES, ErrorCode::kPermissionDenied, "check its permissions, or choose another place"},
    {EPERM, ErrorCode::kPermissionDenied, "check its permissions, or choose another place"},
    {EROFS, ErrorCode::kPermissionDenied, "choose a folder that can be written"},
    {ENOSPC, ErrorCode::kIo, "free some space, or choose another folder"},
    {EDQUOT, ErrorCode::kIo, "free some space, or choose another folder"},
};

}  // namespace

Status ErrnoStatus(int errno_value, std::string_view operation, std::string_view path) {
  std::string message =
      "cannot " + std::string(operation) + " " + std::string(path) + ": " + std::strerror(errno_value);
  for (const ErrnoAdvice& row : kErrnoAdvice) {
    if (row.value == errno_value) {
      return {row.code, message + " (" + row.advice + ")"};
    }
  }
  return Status::Io(std::move(message));
}

}  // namespace assay
