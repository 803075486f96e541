#include "objectserver/s3/dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "objectserver/s3/authenticate.h"
#include "objectserver/s3/google_headers.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {
namespace {

using Handler = http::ServerResponse (*)(const Context& context, const Request& request, std::string_view body);
using Receiver = std::unique_ptr<http::Exchange> (*)(const Context& context, const RequestPointer& request);

enum class Level { kService, kBucket, kObject };

struct Operation {
  const char* name;
  const char* method;
  Level level;
  const char* parameter;  ///< of the query that chooses it; empty: none
  const char* header;     ///< that chooses it; empty: none
  bool write;
  Handler handler;
  Receiver receiver;  ///< of those whose body is content
};

// The first that fits is meant: what a parameter or a header chooses stands before what nothing chooses.
constexpr Operation kOperations[] = {
    {"ListBuckets", "GET", Level::kService, "", "", false, &ListBuckets, nullptr},
    {"GetBucketLocation", "GET", Level::kBucket, "location", "", false, &GetBucketLocation, nullptr},
    {"GetBucketVersioning", "GET", Level::kBucket, "versioning", "", false, &GetBucketVersioning, nullptr},
    {"ListMultipartUploads", "GET", Level::kBucket, "uploads", "", false, &ListMultipartUploads, nullptr},
    {"ListObjectsV2", "GET", Level::kBucket, "list-type", "", false, &ListObjectsV2, nullptr},
    {"ListObjects", "GET", Level::kBucket, "", "", false, &ListObjects, nullptr},
    {"HeadBucket", "HEAD", Level::kBucket, "", "", false, &HeadBucket, nullptr},
    {"CreateBucket", "PUT", Level::kBucket, "", "", true, &CreateBucket, nullptr},
    {"DeleteBucket", "DELETE", Level::kBucket, "", "", true, &DeleteBucket, nullptr},
    {"DeleteObjects", "POST", Level::kBucket, "delete", "", true, &DeleteObjects, nullptr},
    {"GetObjectAttributes", "GET", Level::kObject, "attributes", "", false, &GetObjectAttributes, nullptr},
    {"ListParts", "GET", Level::kObject, "uploadId", "", false, &ListParts, nullptr},
    {"GetObject", "GET", Level::kObject, "", "", false, &GetObject, nullptr},
    {"HeadObject", "HEAD", Level::kObject, "", "", false, &GetObject, nullptr},
    {"UploadPartCopy", "PUT", Level::kObject, "uploadId", "x-amz-copy-source", true, &UploadPartCopy, nullptr},
    {"UploadPart", "PUT", Level::kObject, "uploadId", "", true, nullptr, &UploadPart},
    {"CopyObject", "PUT", Level::kObject, "", "x-amz-copy-source", true, &CopyObject, nullptr},
    {"CopyObject", "PUT", Level::kObject, "", "x-goog-copy-source", true, &CopyObject, nullptr},
    {"ComposeObject", "PUT", Level::kObject, "compose", "", true, &ComposeObject, nullptr},
    {"PutObject", "PUT", Level::kObject, "", "", true, nullptr, &PutObject},
    {"AbortMultipartUpload", "DELETE", Level::kObject, "uploadId", "", true, &AbortMultipartUpload, nullptr},
    {"DeleteObject", "DELETE", Level::kObject, "", "", true, &DeleteObject, nullptr},
    {"CreateMultipartUpload", "POST", Level::kObject, "uploads", "", true, &CreateMultipartUpload, nullptr},
    {"CompleteMultipartUpload", "POST", Level::kObject, "uploadId", "", true, &CompleteMultipartUpload, nullptr},
};

// Parts of buckets and objects that this server does not have: asking for one must not read or change the whole.
constexpr std::string_view kMissingParts[] = {
    "acl",          "policy",
    "tagging",      "cors",
    "lifecycle",    "encryption",
    "replication",  "website",
    "logging",      "inventory",
    "metrics",      "select",
    "versions",     "publicAccessBlock",
    "notification", "accelerate",
    "object-lock",  "retention",
    "restore",      "torrent",
    "legal-hold",   "requestPayment",
    "analytics",    "ownershipControls",
};

constexpr size_t kMaxDocumentBytes = 4 << 20;

Level LevelOf(const Request& request) {
  if (request.bucket.empty()) {
    return Level::kService;
  }
  return request.key.empty() ? Level::kBucket : Level::kObject;
}

const Operation* FindOperation(const Request& request) {
  const Level level = LevelOf(request);
  const auto fits = [&](const Operation& operation) {
    return operation.level == level && operation.method == request.head.method &&
           (*operation.parameter == '\0' || request.query.Has(operation.parameter)) &&
           (*operation.header == '\0' || request.Header(operation.header).has_value());
  };
  const auto found = std::ranges::find_if(kOperations, fits);
  return found == std::end(kOperations) ? nullptr : found;
}

std::optional<Error> JudgeParameters(const Request& request) {
  for (const auto& [name, value] : request.query.all()) {
    if (std::ranges::find(kMissingParts, name) != std::end(kMissingParts)) {
      return Error{"NotImplemented"};
    }
    if (name == "versionId" && value != "null") {
      return Error{"NoSuchVersion", {}, 0, {{"VersionId", value}}};
    }
  }
  return std::nullopt;
}

class S3Dialect : public Dialect {
 public:
  explicit S3Dialect(const Context& context) : context_(context) {}

  Routed Route(http::RequestHead head, const Notes& notes) override {
    auto request = std::make_shared<Request>();
    request->head = std::move(head);
    request->notes = notes;
    Routed routed;
    const std::optional<Error> malformed = ReadAddress(context_.options->domains, *request);
    routed.bucket = request->bucket;
    routed.key = request->key;
    const Operation* operation = malformed ? nullptr : FindOperation(*request);
    if (operation != nullptr) {
      routed.operation = operation->name;
      routed.write = operation->write;
    }
    routed.exchange = malformed ? http::ReadyExchange(ErrorAnswer(*request, *malformed)) : Open(operation, request);
    return routed;
  }

  http::ServerResponse Refuse(Refusal refusal, int status, const Notes& notes) override {
    const char* code = "InternalError";
    switch (refusal) {
      case Refusal::kSlowDown:
        code = "SlowDown";
        break;
      case Refusal::kInternalError:
        code = status == 503 ? "ServiceUnavailable" : "InternalError";
        break;
      case Refusal::kExpiredToken:
        code = "ExpiredToken";
        break;
      case Refusal::kPreconditionFailed:
        code = status == 409 ? "ConditionalRequestConflict" : "PreconditionFailed";
        break;
    }
    return ErrorResponse({code, {}, status}, "/", notes->request_id);
  }

  http::ServerResponse RefuseInside(const Notes& notes) override {
    return ErrorResponse({"InternalError", {}, 200}, "/", notes->request_id);
  }

 private:
  std::unique_ptr<http::Exchange> Open(const Operation* operation, const RequestPointer& request) {
    std::optional<Error> error = Authenticate(context_, *request);
    if (!error && operation == nullptr) {
      error = Error{"MethodNotAllowed", {}, 0, {{"Method", request->head.method}}};
    }
    if (!error) {
      error = JudgeParameters(*request);
    }
    if (error) {
      return http::ReadyExchange(ErrorAnswer(*request, *error));
    }
    AddAmazonNames(*request);
    if (operation->receiver != nullptr) {
      return operation->receiver(context_, request);
    }
    return http::TextExchange(
        [this, operation, request](std::string_view body) {
          if (const std::optional<Error> mismatch = CheckDocument(*request, body)) {
            return ErrorAnswer(*request, *mismatch);
          }
          return operation->handler(context_, *request, body);
        },
        kMaxDocumentBytes);
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<Dialect> NewS3Dialect(const Context& context) {
  return std::make_unique<S3Dialect>(context);
}

}  // namespace assay::objectserver::s3
