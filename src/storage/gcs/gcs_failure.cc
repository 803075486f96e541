#include "storage/gcs/gcs_failure.h"

#include <algorithm>
#include <iterator>

#include "storage/gcs/gcs_json.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

struct ReasonRow {
  std::string_view reason;
  FailureClass kind;
  ErrorCode code;
  std::string_view advice;
};

// Sources: "HTTP status and error codes for JSON" and "Retry strategy" in the Cloud Storage documentation.
constexpr ReasonRow kReasons[] = {
    {"rateLimitExceeded", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"userRateLimitExceeded", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"SlowDown", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"backendError", FailureClass::kServer, ErrorCode::kIo, ""},
    {"internalError", FailureClass::kServer, ErrorCode::kIo, ""},
    {"authError", FailureClass::kExpired, ErrorCode::kPermissionDenied, ""},
    {"required", FailureClass::kPermanent, ErrorCode::kInvalidArgument, ""},
    {"userProjectMissing", FailureClass::kPermanent, ErrorCode::kInvalidArgument,
     "the bucket bills its readers: name a project to bill"},
    {"conditionNotMet", FailureClass::kPrecondition, ErrorCode::kFailedPrecondition, ""},
    {"invalidAltValue", FailureClass::kPermanent, ErrorCode::kInternal, ""},
    {"NoSuchUpload", FailureClass::kMissing, ErrorCode::kNotFound, "it was completed or aborted: begin the write anew"},
};

}  // namespace

Failure ReadGcsFailure(const http::Response& answer) {
  Failure failure = FailureOfStatus(answer.status);
  const GcsErrorBody body = ParseGcsError(answer.body);
  failure.store_code = body.reason;
  failure.message = body.message;
  failure.request_id = answer.headers.Find("x-guploader-uploadid").value_or("");
  failure.date = answer.headers.Find("date").value_or("");
  failure.retry_after_seconds =
      static_cast<double>(ParseCount(answer.headers.Find("retry-after").value_or("")).value_or(0));
  // Tokens run out in the middle of transfers, and a checksum that does not match comes as a bad request.
  if (answer.status == 401) {
    failure.kind = FailureClass::kExpired;
  } else if (answer.status == 400 && body.message.find("does not match") != std::string::npos) {
    failure.kind = FailureClass::kCorrupt;
    failure.code = ErrorCode::kIo;
  }
  const auto* row = std::find_if(std::begin(kReasons), std::end(kReasons),
                                 [&body](const ReasonRow& candidate) { return candidate.reason == body.reason; });
  if (row != std::end(kReasons)) {
    failure.kind = row->kind;
    failure.code = row->code;
    failure.advice = row->advice;
  }
  return failure;
}

Failure UnreadableGcsAnswer(const http::Response& answer) {
  Failure failure = MakeFailure(FailureClass::kServer, ErrorCode::kIo,
                                "the answer is not what it should be: '" + answer.body.substr(0, 80) + "'");
  failure.http_status = answer.status;
  return failure;
}

}  // namespace assay::storage
