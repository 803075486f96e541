#include "objectserver/gcs/dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/message.h"
#include "objectserver/gcs/operations.h"
#include "objectserver/tokens.h"

namespace assay::objectserver::gcs {
namespace {

using Handler = http::ServerResponse (*)(const Context& context, const Request& request, std::string_view body);
using Receiver = std::unique_ptr<http::Exchange> (*)(const Context& context, const RequestPointer& request);

/// What a path names.
enum class Resource { kToken, kBuckets, kBucket, kObjects, kObject, kCompose, kRewrite, kCopy, kUpload };

struct Operation {
  const char* name;  ///< S3's name for the same, where it has one: profiles speak of one vocabulary
  const char* method;
  Resource resource;
  const char* upload_type;  ///< of uploads; empty: any
  const char* parameter;    ///< of the query that must be there; empty: none
  bool write;
  Handler handler;
  Receiver receiver;  ///< of those whose body is content
};

constexpr Operation kOperations[] = {
    {"IssueToken", "POST", Resource::kToken, "", "", false, &IssueToken, nullptr},
    {"ListBuckets", "GET", Resource::kBuckets, "", "", false, &ListBuckets, nullptr},
    {"CreateBucket", "POST", Resource::kBuckets, "", "", true, &CreateBucket, nullptr},
    {"HeadBucket", "GET", Resource::kBucket, "", "", false, &GetBucket, nullptr},
    {"DeleteBucket", "DELETE", Resource::kBucket, "", "", true, &DeleteBucket, nullptr},
    {"ListObjects", "GET", Resource::kObjects, "", "", false, &ListObjects, nullptr},
    {"GetObject", "GET", Resource::kObject, "", "alt", false, &GetObject, nullptr},
    {"HeadObject", "GET", Resource::kObject, "", "", false, &GetObject, nullptr},
    {"UpdateObject", "PATCH", Resource::kObject, "", "", true, &PatchObject, nullptr},
    {"DeleteObject", "DELETE", Resource::kObject, "", "", true, &DeleteObject, nullptr},
    {"ComposeObject", "POST", Resource::kCompose, "", "", true, &Compose, nullptr},
    {"CopyObject", "POST", Resource::kRewrite, "", "", true, &Rewrite, nullptr},
    {"CopyObject", "POST", Resource::kCopy, "", "", true, &Copy, nullptr},
    {"UploadPart", "PUT", Resource::kUpload, "", "upload_id", true, nullptr, &ContinueResumable},
    // The service takes chunks by POST as well, which is how gcsfs sends them.
    {"UploadPart", "POST", Resource::kUpload, "", "upload_id", true, nullptr, &ContinueResumable},
    {"AbortMultipartUpload", "DELETE", Resource::kUpload, "", "upload_id", true, &AbortResumable, nullptr},
    {"CreateMultipartUpload", "POST", Resource::kUpload, "resumable", "", true, &BeginResumable, nullptr},
    {"PutObject", "POST", Resource::kUpload, "media", "", true, nullptr, &UploadMedia},
    {"PutObject", "POST", Resource::kUpload, "multipart", "", true, &UploadMultipart, nullptr},
};

constexpr std::string_view kApiRoots[] = {"/storage/v1/b", "/download/storage/v1/b", "/upload/storage/v1/b"};
constexpr std::string_view kTokenPaths[] = {"/token", "/oauth2/v4/token", "/o/oauth2/token"};
constexpr size_t kMaxBodyBytes = 4 << 20;
constexpr size_t kMaxMultipartBytes = 256 << 20;  ///< of content and metadata in one body

bool IsTokenPath(std::string_view path) {
  return std::ranges::find(kTokenPaths, path) != std::end(kTokenPaths);
}

/// The decoded segments behind "/storage/v1/b"; nothing for a malformed path.
std::optional<std::vector<std::string>> SegmentsOf(std::string_view path) {
  for (const std::string_view root : kApiRoots) {
    if (!path.starts_with(root)) {
      continue;
    }
    std::vector<std::string> segments;
    for (const std::string& raw : Split(path.substr(root.size()), '/')) {
      const auto segment = http::PercentDecode(raw);
      if (!segment) {
        return std::nullopt;
      }
      segments.push_back(*segment);
    }
    if (!segments.empty()) {
      segments.erase(segments.begin());  // before the first '/'
    }
    return segments;
  }
  return std::nullopt;
}

/// Reads what the path names into `request`; nothing when it names nothing.
std::optional<Resource> ReadAddress(Request& request) {
  const std::string_view path = request.head.path();
  if (IsTokenPath(path)) {
    return Resource::kToken;
  }
  const auto segments = SegmentsOf(path);
  if (!segments || segments->empty() || segments->front().empty()) {
    return segments ? std::optional(Resource::kBuckets) : std::nullopt;
  }
  const std::vector<std::string>& parts = *segments;
  request.bucket = parts[0];
  if (parts.size() == 1) {
    return Resource::kBucket;
  }
  if (parts[1] != "o") {
    return std::nullopt;
  }
  if (parts.size() == 2) {
    return path.starts_with("/upload/") ? Resource::kUpload : Resource::kObjects;
  }
  request.object = parts[2];
  if (parts.size() == 3) {
    return Resource::kObject;
  }
  if (parts.size() == 4 && parts[3] == "compose") {
    return Resource::kCompose;
  }
  if (parts.size() == 8 && (parts[3] == "rewriteTo" || parts[3] == "copyTo") && parts[4] == "b" && parts[6] == "o") {
    request.destination_bucket = parts[5];
    request.destination_object = parts[7];
    return parts[3] == "copyTo" ? Resource::kCopy : Resource::kRewrite;
  }
  return std::nullopt;
}

const Operation* FindOperation(Resource resource, const Request& request) {
  const auto found = std::ranges::find_if(kOperations, [&](const Operation& operation) {
    return operation.resource == resource && operation.method == request.head.method &&
           (*operation.upload_type == '\0' || request.query.Get("uploadType") == operation.upload_type) &&
           (*operation.parameter == '\0' || request.query.Has(operation.parameter));
  });
  return found == std::end(kOperations) ? nullptr : found;
}

/// The address of a resumable session is its own proof: whoever has it may go on with it, as with the service.
bool NeedsNoToken(const Operation& operation) {
  return operation.resource == Resource::kToken || operation.parameter == std::string_view("upload_id");
}

class GcsDialect : public Dialect {
 public:
  explicit GcsDialect(const Context& context) : context_(context) {}

  Routed Route(http::RequestHead head, const Notes& notes) override {
    auto request = std::make_shared<Request>();
    request->head = std::move(head);
    request->notes = notes;
    const std::optional<Query> query = Query::Parse(request->head.query());
    request->query = query.value_or(Query());
    const std::optional<Resource> resource = query ? ReadAddress(*request) : std::nullopt;
    const Operation* operation = resource ? FindOperation(*resource, *request) : nullptr;
    Routed routed;
    routed.bucket = request->bucket;
    routed.key = request->object.empty() ? request->query.Get("name") : request->object;
    if (operation != nullptr) {
      routed.operation = operation->name;
      routed.write = operation->write;
    }
    routed.exchange = Open(operation, request);
    return routed;
  }

  http::ServerResponse Refuse(Refusal refusal, int status, const Notes&) override {
    switch (refusal) {
      case Refusal::kSlowDown:
        return ErrorAnswer(status == 0 ? 429 : status, "rateLimitExceeded", "The rate limit was exceeded.");
      case Refusal::kExpiredToken:
        return ErrorAnswer(401, "authError", "Invalid Credentials");
      case Refusal::kPreconditionFailed:
        return ErrorAnswer(status == 0 ? 412 : status, "conditionNotMet",
                           "At least one of the pre-conditions you specified did not hold.");
      case Refusal::kInternalError:
        break;
    }
    return ErrorAnswer(status == 0 ? 500 : status, "backendError", "Backend Error");
  }

  http::ServerResponse RefuseInside(const Notes& notes) override { return Refuse(Refusal::kInternalError, 0, notes); }

 private:
  std::unique_ptr<http::Exchange> Open(const Operation* operation, const RequestPointer& request) {
    if (operation == nullptr) {
      return http::ReadyExchange(ErrorAnswer(404, "notFound", "Not Found"));
    }
    if (!NeedsNoToken(*operation) && !IsAllowed(*request)) {
      http::ServerResponse refused = ErrorAnswer(401, "authError", "Invalid Credentials");
      refused.headers.Add("WWW-Authenticate", "Bearer realm=\"https://accounts.google.com/\"");
      return http::ReadyExchange(std::move(refused));
    }
    if (operation->receiver != nullptr) {
      return operation->receiver(context_, request);
    }
    return http::TextExchange(
        [this, operation, request](std::string_view body) { return operation->handler(context_, *request, body); },
        operation->handler == &UploadMultipart ? kMaxMultipartBytes : kMaxBodyBytes);
  }

  bool IsAllowed(const Request& request) const {
    constexpr std::string_view kBearer = "Bearer ";
    const std::string authorization = request.HeaderText("Authorization");
    return context_.credentials->anonymous() ||
           (authorization.starts_with(kBearer) &&
            context_.tokens->Knows(std::string_view(authorization).substr(kBearer.size())));
  }

  const Context& context_;
};

}  // namespace

bool IsGcsPath(std::string_view path) {
  return IsTokenPath(path) || std::ranges::any_of(kApiRoots, [&](std::string_view root) {
           return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
         });
}

std::unique_ptr<Dialect> NewGcsDialect(const Context& context) {
  return std::make_unique<GcsDialect>(context);
}

}  // namespace assay::objectserver::gcs
