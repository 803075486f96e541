#include "storage/s3/s3_failure.h"

#include <fmt/format.h>

#include <string>

namespace assay::storage {
namespace {

// Source: "Error responses" in the Amazon S3 API reference.
constexpr StoreCodeRow kCodes[] = {
    {"SlowDown", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"ServiceUnavailable", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"ThrottlingException", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"Throttling", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"TooManyRequests", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"RequestLimitExceeded", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"InternalError", FailureClass::kServer, ErrorCode::kIo, ""},
    {"RequestTimeout", FailureClass::kStall, ErrorCode::kIo, ""},
    {"RequestTimeTooSkewed", FailureClass::kClockSkew, ErrorCode::kPermissionDenied, ""},
    {"ExpiredToken", FailureClass::kExpired, ErrorCode::kPermissionDenied, ""},
    {"TokenRefreshRequired", FailureClass::kExpired, ErrorCode::kPermissionDenied, ""},
    {"BadDigest", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"XAmzContentSHA256Mismatch", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"XAmzContentChecksumMismatch", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"IncompleteBody", FailureClass::kReset, ErrorCode::kIo, ""},
    {"OperationAborted", FailureClass::kBusy, ErrorCode::kFailedPrecondition, ""},
    {"ConditionalRequestConflict", FailureClass::kBusy, ErrorCode::kFailedPrecondition, ""},
    {"PreconditionFailed", FailureClass::kPrecondition, ErrorCode::kFailedPrecondition, ""},
    {"NoSuchKey", FailureClass::kMissing, ErrorCode::kNotFound, "list its prefix to see what is there"},
    {"NoSuchUpload", FailureClass::kMissing, ErrorCode::kNotFound, "it was completed or aborted: begin the write anew"},
    {"NoSuchBucket", FailureClass::kPermanent, ErrorCode::kNotFound, "check the bucket's name and the endpoint"},
    {"BucketAlreadyOwnedByYou", FailureClass::kPermanent, ErrorCode::kFailedPrecondition,
     "use it, or choose another name"},
    {"BucketAlreadyExists", FailureClass::kPermanent, ErrorCode::kFailedPrecondition,
     "names are shared with all other accounts: choose another"},
    {"BucketNotEmpty", FailureClass::kPermanent, ErrorCode::kFailedPrecondition, "remove what is in it first"},
    {"InvalidBucketName", FailureClass::kPermanent, ErrorCode::kInvalidArgument, "check the bucket's name"},
    {"InvalidAccessKeyId", FailureClass::kDenied, ErrorCode::kPermissionDenied,
     "the store does not know this access key: check the credentials and the endpoint"},
    {"SignatureDoesNotMatch", FailureClass::kDenied, ErrorCode::kPermissionDenied,
     "check the secret key, and that no proxy changes requests"},
    {"InvalidToken", FailureClass::kDenied, ErrorCode::kPermissionDenied, "check the session token"},
    {"InvalidObjectState", FailureClass::kPermanent, ErrorCode::kFailedPrecondition,
     "the object is archived: restore it first"},
    {"EntityTooSmall", FailureClass::kPermanent, ErrorCode::kInvalidArgument, "choose larger parts"},
    {"EntityTooLarge", FailureClass::kPermanent, ErrorCode::kInvalidArgument, "let it be written in parts"},
    {"InvalidPart", FailureClass::kInvalidPart, ErrorCode::kFailedPrecondition, ""},
};

bool IsWrongRegion(const http::Response& answer, const S3ErrorBody& body, std::string_view region) {
  // Answers to HEAD have no body.
  const auto right = answer.headers.Find("x-amz-bucket-region");
  const bool without_code = answer.status == 400 && body.code.empty() && right && *right != region;
  return without_code || answer.status == 301 || answer.status == 307 || body.code == "AuthorizationHeaderMalformed" ||
         body.code == "IllegalLocationConstraintException" || body.code == "PermanentRedirect";
}

void ExplainRegion(const http::Response& answer, const S3ErrorBody& body, std::string_view region, Failure& failure) {
  const std::string right(answer.headers.Find("x-amz-bucket-region").value_or(body.region));
  failure.kind = FailureClass::kPermanent;
  failure.code = ErrorCode::kInvalidArgument;
  if (!right.empty() && right != region) {
    failure.advice = fmt::format("the bucket is in region {}, not {}: set the region to {}", right, region, right);
  } else if (!body.endpoint.empty()) {
    failure.advice = fmt::format("the bucket is reached at {}: set the endpoint to that", body.endpoint);
  } else {
    failure.advice = "check the region and the endpoint";
  }
}

void Take(const http::Response& answer, const S3ErrorBody& body, Failure& failure) {
  TakeStoreError(body.code, body.message, kCodes, failure);
  TakeHeaders(answer, "x-amz-request-id", failure);
  if (failure.request_id.empty()) {
    failure.request_id = body.request_id;
  }
}

}  // namespace

Failure ReadS3Failure(const http::Response& answer, std::string_view region) {
  const S3ErrorBody body = ParseS3Error(answer.body);
  Failure failure = FailureOfStatus(answer.status);
  if (answer.status == 503) {
    failure.kind = FailureClass::kThrottle;
  }
  Take(answer, body, failure);
  if (IsWrongRegion(answer, body, region)) {
    ExplainRegion(answer, body, region, failure);
  } else if (answer.status == 400 && body.code.empty() && answer.body.empty()) {
    // Answers to HEAD have no body, and this is the one for expired credentials.
    failure.kind = FailureClass::kExpired;
    failure.advice = "the credentials may have expired, or the request is one this store does not know";
  }
  return failure;
}

Failure FailureOfS3Body(const http::Response& answer, const S3ErrorBody& body) {
  // Without a code of ours: something failed in there, and it may go better next time.
  Failure failure = UnreadableAnswer(answer);
  const std::string unreadable = failure.message;
  Take(answer, body, failure);
  if (body.code.empty()) {
    failure.message = unreadable;
  }
  return failure;
}

Failure FailureOfS3Body(const http::Response& answer, const Status& why) {
  const S3ErrorBody body = ParseS3Error(answer.body);
  if (!body.code.empty()) {
    return FailureOfS3Body(answer, body);
  }
  Failure failure = UnreadableAnswer(answer, why);
  TakeHeaders(answer, "x-amz-request-id", failure);
  return failure;
}

}  // namespace assay::storage
