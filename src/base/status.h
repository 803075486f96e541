// Status and Result: how everything outside `engine/` reports failure.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// What kind of failure it was. The kind decides the exit code of a program and whether a retry makes sense.
enum class ErrorCode {
  kOk,
  kInvalidArgument,     ///< the user's mistake: a wrong value, a malformed file; exit code 2
  kNotFound,            ///< something the user named does not exist; exit code 2
  kPermissionDenied,    ///< the system refuses access; exit code 2
  kFailedPrecondition,  ///< a store of a newer version, a folder that is not what it should be; exit code 2
  kUnsupported,         ///< known, but not available in this build or version; exit code 2
  kIo,                  ///< a disk or network operation failed: full disk, reset connection; exit code 1
  kOutOfMemory,         ///< device or budget exhausted; exit code 1
  kAborted,             ///< interrupted by the user; exit code 130
  kInternal,            ///< a run failed, or a defect of ours; exit code 1
};

/// The outcome of an operation without a value. Cheap to pass by value; an error carries one line of text that says
/// what was tried, on what, what came back and what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status InvalidArgument(std::string m) { return {ErrorCode::kInvalidArgument, std::move(m)}; }
  static Status NotFound(std::string m) { return {ErrorCode::kNotFound, std::move(m)}; }
  static Status PermissionDenied(std::string m) { return {ErrorCode::kPermissionDenied, std::move(m)}; }
  static Status FailedPrecondition(std::string m) { return {ErrorCode::kFailedPrecondition, std::move(m)}; }
  static Status Unsupported(std::string m) { return {ErrorCode::kUnsupported, std::move(m)}; }
  static Status Io(std::string m) { return {ErrorCode::kIo, std::move(m)}; }
  static Status OutOfMemory(std::string m) { return {ErrorCode::kOutOfMemory, std::move(m)}; }
  static Status Aborted(std::string m) { return {ErrorCode::kAborted, std::move(m)}; }
  static Status Internal(std::string m) { return {ErrorCode::kInternal, std::move(m)}; }

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same error with `context` and a colon put before its message; an ok status stays ok.
  Status WithContext(std::string_view context) const;

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string message_;
};

/// The exit code a program ends with on `status`: 0, 1 (a failed run), 2 (the user's mistake) or 130 (interrupted).
int ExitCode(const Status& status);

/// A Status for `errno_value` after `operation` on `path`, for example "cannot write runs.db: No space left on device
/// (free some space, or choose another folder)".
Status ErrnoStatus(int errno_value, std::string_view operation, std::string_view path);

/// Either a value or an error. Reading the value of an error is a defect of the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit, so that `return value;` works
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT: as above

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace assay

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

/// Returns the error of a Status expression from the enclosing function.
#define ASSAY_RETURN_IF_ERROR(expression)                                  \
  do {                                                                     \
    if (::assay::Status assay_status = (expression); !assay_status.ok()) { \
      return assay_status;                                                 \
    }                                                                      \
  } while (false)

/// Assigns the value of a Result expression to `target`, or returns its error from the enclosing function.
#define ASSAY_ASSIGN_OR_RETURN(target, expression) \
  ASSAY_ASSIGN_OR_RETURN_IMPL(ASSAY_CONCAT(assay_result_, __LINE__), target, expression)
#define ASSAY_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) {                                           \
    return result.status();                                     \
  }                                                             \
  target = std::move(result).value()
