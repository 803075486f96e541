#include "objectserver/s3/error.h"

#include <algorithm>
#include <iterator>

#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

struct KnownError {
  std::string_view code;
  int status;
  std::string_view message;
};

// Codes and wording: "Error responses" of the Amazon S3 API reference.
constexpr KnownError kKnown[] = {
    {"AccessDenied", 403, "Access Denied"},
    {"BadDigest", 400, "The Content-MD5 or checksum you specified did not match what we received."},
    {"BucketAlreadyExists", 409, "The requested bucket name is not available."},
    {"BucketAlreadyOwnedByYou", 409, "Your previous request to create the named bucket succeeded and you own it."},
    {"BucketNotEmpty", 409, "The bucket you tried to delete is not empty"},
    {"ConditionalRequestConflict", 409, "The conditional request cannot succeed due to a conflicting operation."},
    {"EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size"},
    {"EntityTooSmall", 400, "Your proposed upload is smaller than the minimum allowed size"},
    {"ExpiredToken", 400, "The provided token has expired."},
    {"IncompleteBody", 400, "The request body terminated unexpectedly"},
    {"InternalError", 500, "We encountered an internal error. Please try again."},
    {"InvalidArgument", 400, "Invalid Argument"},
    {"InvalidBucketName", 400, "The specified bucket is not valid."},
    {"InvalidDigest", 400, "The Content-MD5 you specified is not valid."},
    {"InvalidPart", 400,
     "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified "
     "entity tag may not match the part's entity tag."},
    {"InvalidPartNumber", 416, "The requested partnumber is not satisfiable"},
    {"InvalidPartOrder", 400, "The list of parts was not in ascending order. Parts must be ordered by part number."},
    {"InvalidRange", 416, "The requested range is not satisfiable"},
    {"InvalidRequest", 400, "The request is not valid."},
    {"InvalidURI", 400, "Couldn't parse the specified URI."},
    {"KeyTooLongError", 400, "Your key is too long"},
    {"MalformedTrailerError", 400, "The request contained trailing data that was not well-formed or did not conform."},
    {"MalformedXML", 400, "The XML you provided was not well-formed or did not validate against our published schema"},
    {"MetadataTooLarge", 400, "Your metadata headers exceed the maximum allowed metadata size"},
    {"MethodNotAllowed", 405, "The specified method is not allowed against this resource."},
    {"MissingContentLength", 411, "You must provide the Content-Length HTTP header."},
    {"NoSuchBucket", 404, "The specified bucket does not exist"},
    {"NoSuchKey", 404, "The specified key does not exist."},
    {"NoSuchUpload", 404,
     "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
     "completed."},
    {"NoSuchVersion", 404, "The specified version does not exist."},
    {"NotImplemented", 501, "A header or query you provided implies functionality that is not implemented"},
    {"PreconditionFailed", 412, "At least one of the pre-conditions you specified did not hold"},
    {"RequestTimeTooSkewed", 403, "The difference between the request time and the server's time is too large."},
    {"ServiceUnavailable", 503, "Service is unable to handle request."},
    {"SignatureDoesNotMatch", 403,
     "The request signature we calculated does not match the signature you provided. Check your key and signing "
     "method."},
    {"SlowDown", 503, "Please reduce your request rate."},
    {"XAmzContentChecksumMismatch", 400, "The provided checksum does not match what was computed."},
    {"XAmzContentSHA256Mismatch", 400, "The provided 'x-amz-content-sha256' header does not match what was computed."},
};

const KnownError* FindKnown(std::string_view code) {
  const auto found = std::ranges::find(kKnown, code, &KnownError::code);
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

int StatusOf(std::string_view code) {
  const KnownError* known = FindKnown(code);
  return known == nullptr ? 400 : known->status;
}

std::string ErrorDocument(const Error& error, const std::string& resource, const std::string& request_id) {
  const KnownError* known = FindKnown(error.code);
  XmlWriter xml;
  xml.Open("Error");
  xml.Leaf("Code", error.code);
  xml.Leaf("Message", error.message.empty() && known != nullptr ? known->message : std::string_view(error.message));
  for (const auto& [name, value] : error.details) {
    xml.Leaf(name, value);
  }
  xml.Leaf("Resource", resource);
  xml.Leaf("RequestId", request_id);
  xml.Leaf("HostId", "assay");
  xml.Close();
  return xml.Take();
}

http::ServerResponse ErrorResponse(const Error& error, const std::string& resource, const std::string& request_id) {
  http::ServerResponse response;
  response.status = error.status > 0 ? error.status : StatusOf(error.code);
  response.headers.Add("Content-Type", "application/xml");
  response.headers.Add("x-amz-request-id", request_id);
  response.headers.Add("x-amz-id-2", "assay");
  // Answers to HEAD have nothing else to say it with.
  const auto region = std::ranges::find(error.details, "Region", &std::pair<std::string, std::string>::first);
  if (region != error.details.end()) {
    response.headers.Add("x-amz-bucket-region", region->second);
  }
  if (response.status == 304) {
    return response;
  }
  response.body.push_back(http::BodyPiece::Text(ErrorDocument(error, resource, request_id)));
  return response;
}

}  // namespace assay::objectserver::s3
