#include "storage/gcs/gcs_failure.h"

#include "storage/gcs/gcs_json.h"

namespace assay::storage {
namespace {

constexpr std::string_view kBucketAdvice = "check the bucket's name and the endpoint";

// Sources: "HTTP status and error codes for JSON" and "Retry strategy" in the Cloud Storage documentation.
constexpr StoreCodeRow kReasons[] = {
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
    {"InvalidPart", FailureClass::kInvalidPart, ErrorCode::kFailedPrecondition, ""},
    {"BucketNotEmpty", FailureClass::kPermanent, ErrorCode::kFailedPrecondition, ""},
    {"NoSuchBucket", FailureClass::kPermanent, ErrorCode::kNotFound, kBucketAdvice},
    {"NoSuchUpload", FailureClass::kMissing, ErrorCode::kNotFound, "it was completed or aborted: begin the write anew"},
};

}  // namespace

Failure ReadGcsFailure(const http::Response& answer) {
  Failure failure = FailureOfStatus(answer.status);
  const GcsErrorBody body = ParseGcsError(answer.body);
  TakeHeaders(answer, "x-guploader-uploadid", failure);
  // Tokens run out in the middle of transfers, and a checksum that does not match comes as a bad request.
  if (answer.status == 401) {
    failure.kind = FailureClass::kExpired;
  } else if (answer.status == 400 && body.message.find("does not match") != std::string::npos) {
    failure.kind = FailureClass::kCorrupt;
    failure.code = ErrorCode::kIo;
  }
  TakeStoreError(body.reason, body.message, kReasons, failure);
  // The JSON API has one reason for a missing bucket and a missing object; only its words differ.
  if (answer.status == 404 && body.message.find("bucket does not exist") != std::string::npos) {
    failure.kind = FailureClass::kPermanent;
    failure.advice = kBucketAdvice;
  }
  return failure;
}

}  // namespace assay::storage
