#include "storage/oci/oci_failure.h"

#include "storage/oci/oci_json.h"

namespace assay::storage {
namespace {

constexpr std::string_view kRequestId = "opc-request-id";

// Source: "API Errors" of the Oracle Cloud Infrastructure documentation.
constexpr StoreCodeRow kCodes[] = {
    {"TooManyRequests", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"InternalServerError", FailureClass::kServer, ErrorCode::kIo, ""},
    {"ServiceUnavailable", FailureClass::kThrottle, ErrorCode::kIo, ""},
    {"ConcurrentObjectUpdate", FailureClass::kBusy, ErrorCode::kFailedPrecondition, ""},
    {"IncorrectState", FailureClass::kBusy, ErrorCode::kFailedPrecondition, ""},
    {"ExternalServerIncorrectState", FailureClass::kBusy, ErrorCode::kFailedPrecondition, ""},
    {"UnmatchedContentMD5", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"ContentMD5Unmatched", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"ChecksumMismatch", FailureClass::kCorrupt, ErrorCode::kIo, ""},
    {"IfNoneMatchFailed", FailureClass::kPrecondition, ErrorCode::kFailedPrecondition, ""},
    {"IfMatchFailed", FailureClass::kPrecondition, ErrorCode::kFailedPrecondition, ""},
    {"NoEtagMatch", FailureClass::kPrecondition, ErrorCode::kFailedPrecondition, ""},
    {"InvalidUploadPart", FailureClass::kInvalidPart, ErrorCode::kFailedPrecondition, ""},
    {"ObjectNotFound", FailureClass::kMissing, ErrorCode::kNotFound, "list its prefix to see what is there"},
    {"NoSuchUpload", FailureClass::kMissing, ErrorCode::kNotFound, "it was committed or aborted: begin the write anew"},
    {"BucketNotFound", FailureClass::kPermanent, ErrorCode::kNotFound,
     "check the bucket, the namespace and the region, and what the credentials are allowed to see"},
    {"BucketAlreadyExists", FailureClass::kPermanent, ErrorCode::kFailedPrecondition, "use it, or choose another name"},
    {"BucketNotEmpty", FailureClass::kPermanent, ErrorCode::kFailedPrecondition, "remove what is in it first"},
    {"NamespaceNotFound", FailureClass::kPermanent, ErrorCode::kNotFound, "check the namespace behind the '@'"},
    {"NotAuthorizedOrNotFound", FailureClass::kPermanent, ErrorCode::kPermissionDenied,
     "check the bucket and the policies"},
    {"SignUpRequired", FailureClass::kDenied, ErrorCode::kPermissionDenied,
     "the tenancy is not subscribed to this region"},
    {"InvalidRange", FailureClass::kPermanent, ErrorCode::kInvalidArgument, "ask for a range within the object"},
    {"NotRestored", FailureClass::kPermanent, ErrorCode::kFailedPrecondition,
     "the object is archived: restore it first"},
};

}  // namespace

Failure ReadOciFailure(const http::Response& answer) {
  Failure failure = FailureOfStatus(answer.status);
  const OciErrorBody body = ParseOciError(answer.body);
  TakeHeaders(answer, kRequestId, failure);
  if (answer.status == 401) {
    // Tokens of instances and sessions run out; a clock that is off looks the same but for the words.
    const bool skewed =
        body.message.find("clock") != std::string::npos || body.message.find("date") != std::string::npos;
    failure.kind = skewed ? FailureClass::kClockSkew : FailureClass::kExpired;
  }
  TakeStoreError(body.code, body.message, kCodes, failure);
  if (answer.status == 404 && body.code == "NotAuthenticated") {
    failure.kind = FailureClass::kDenied;
    failure.code = ErrorCode::kPermissionDenied;
    failure.advice = "the pre-authenticated request has ended, was deleted, or does not allow this: ask for another";
  }
  return failure;
}

Failure UnreadableOciAnswer(const http::Response& answer) {
  return UnreadableOciAnswer(answer, Status::Io(""));
}

Failure UnreadableOciAnswer(const http::Response& answer, const Status& why) {
  Failure failure = UnreadableAnswer(answer, why);
  failure.request_id = answer.headers.Find(kRequestId).value_or("");
  return failure;
}

}  // namespace assay::storage
