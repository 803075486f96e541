#include "storage/oci/oci_failure.h"

#include <algorithm>
#include <iterator>

#include "storage/oci/oci_json.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

struct CodeRow {
  std::string_view name;
  FailureClass kind;
  ErrorCode code;
  std::string_view advice;
};

// Source: "API Errors" of the Oracle Cloud Infrastructure documentation.
constexpr CodeRow kCodes[] = {
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
    {"ObjectNotFound", FailureClass::kMissing, ErrorCode::kNotFound, "list its prefix to see what is there"},
    {"NoSuchUpload", FailureClass::kMissing, ErrorCode::kNotFound, "it was committed or aborted: begin the write anew"},
    {"BucketNotFound", FailureClass::kPermanent, ErrorCode::kNotFound,
     "check the bucket, the namespace and the region, and what the credentials are allowed to see"},
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
  failure.store_code = body.code;
  failure.message = body.message;
  failure.request_id = answer.headers.Find("opc-request-id").value_or("");
  failure.date = answer.headers.Find("date").value_or("");
  failure.retry_after_seconds =
      static_cast<double>(ParseCount(answer.headers.Find("retry-after").value_or("")).value_or(0));
  if (answer.status == 401) {
    // Tokens of instances and sessions run out; a clock that is off looks the same but for the words.
    const bool skewed =
        body.message.find("clock") != std::string::npos || body.message.find("date") != std::string::npos;
    failure.kind = skewed ? FailureClass::kClockSkew : FailureClass::kExpired;
  }
  const auto* row = std::find_if(std::begin(kCodes), std::end(kCodes),
                                 [&body](const CodeRow& candidate) { return candidate.name == body.code; });
  if (row != std::end(kCodes)) {
    failure.kind = row->kind;
    failure.code = row->code;
    failure.advice = row->advice;
  }
  return failure;
}

Failure UnreadableOciAnswer(const http::Response& answer) {
  Failure failure = MakeFailure(FailureClass::kServer, ErrorCode::kIo,
                                "the answer is not what it should be: '" + answer.body.substr(0, 80) + "'");
  failure.http_status = answer.status;
  failure.request_id = answer.headers.Find("opc-request-id").value_or("");
  return failure;
}

}  // namespace assay::storage
