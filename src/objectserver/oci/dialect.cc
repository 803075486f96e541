#include "objectserver/oci/dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "http/message.h"
#include "objectserver/oci/operations.h"
#include "objectserver/oci/preauthenticated.h"
#include "storage/auth/oci_signature.h"

namespace assay::objectserver::oci {
namespace {

using Handler = http::ServerResponse (*)(const Context& context, const Request& request, std::string_view body);
using Receiver = std::unique_ptr<http::Exchange> (*)(const Context& context, const RequestPointer& request);

/// What a path names.
enum class Resource {
  kNamespace,
  kBuckets,
  kBucket,
  kObjects,
  kObject,
  kUploads,
  kUpload,
  kCopy,
  kWorkRequest,
  kPreauthenticatedAll,
  kPreauthenticated
};

struct Operation {
  const char* name;  ///< S3's name for the same, where it has one: profiles speak of one vocabulary
  const char* method;
  Resource resource;
  bool write;
  Handler handler;
  Receiver receiver;  ///< of those whose body is content
};

constexpr Operation kOperations[] = {
    {"GetNamespace", "GET", Resource::kNamespace, false, &GetNamespace, nullptr},
    {"ListBuckets", "GET", Resource::kBuckets, false, &ListBuckets, nullptr},
    {"CreateBucket", "POST", Resource::kBuckets, true, &CreateBucket, nullptr},
    {"HeadBucket", "GET", Resource::kBucket, false, &GetBucket, nullptr},
    {"HeadBucket", "HEAD", Resource::kBucket, false, &GetBucket, nullptr},
    {"DeleteBucket", "DELETE", Resource::kBucket, true, &DeleteBucket, nullptr},
    {"ListObjects", "GET", Resource::kObjects, false, &ListObjects, nullptr},
    {"GetObject", "GET", Resource::kObject, false, &GetObject, nullptr},
    {"HeadObject", "HEAD", Resource::kObject, false, &GetObject, nullptr},
    {"PutObject", "PUT", Resource::kObject, true, nullptr, &PutObject},
    {"DeleteObject", "DELETE", Resource::kObject, true, &DeleteObject, nullptr},
    {"CopyObject", "POST", Resource::kCopy, true, &CopyObject, nullptr},
    {"GetWorkRequest", "GET", Resource::kWorkRequest, false, &GetWorkRequest, nullptr},
    {"CreatePreauthenticatedRequest", "POST", Resource::kPreauthenticatedAll, true, &CreatePreauthenticatedRequest,
     nullptr},
    {"ListPreauthenticatedRequests", "GET", Resource::kPreauthenticatedAll, false, &ListPreauthenticatedRequests,
     nullptr},
    {"DeletePreauthenticatedRequest", "DELETE", Resource::kPreauthenticated, true, &DeletePreauthenticatedRequest,
     nullptr},
    {"CreateMultipartUpload", "POST", Resource::kUploads, true, &CreateUpload, nullptr},
    {"ListMultipartUploads", "GET", Resource::kUploads, false, &ListUploads, nullptr},
    {"UploadPart", "PUT", Resource::kUpload, true, nullptr, &UploadPart},
    {"ListParts", "GET", Resource::kUpload, false, &ListParts, nullptr},
    {"CompleteMultipartUpload", "POST", Resource::kUpload, true, &CommitUpload, nullptr},
    {"AbortMultipartUpload", "DELETE", Resource::kUpload, true, &AbortUpload, nullptr},
};

constexpr size_t kMaxBodyBytes = 4 << 20;
constexpr std::string_view kWorkRequests = "/workRequests/";
constexpr std::string_view kPreauthenticated = "/p/";

/// Takes the next segment off `path`, decoded; nothing when there is none or it is malformed.
std::optional<std::string> TakeSegment(std::string_view& path) {
  if (!path.starts_with('/') || path.size() == 1) {
    return std::nullopt;
  }
  const std::string_view raw = path.substr(1, path.find('/', 1) - 1);
  path.remove_prefix(raw.size() + 1);
  return http::PercentDecode(raw);
}

/// The rest of a path below "o", "u" or "p": an object's name may hold slashes.
std::optional<Resource> ReadRest(std::string_view path, Resource all, Resource one, Request& request) {
  if (path.empty() || path == "/") {
    return all;
  }
  const auto name = http::PercentDecode(path.substr(1));
  if (!name) {
    return std::nullopt;
  }
  request.object = *name;
  return one;
}

std::optional<Resource> ReadAddress(Request& request) {
  std::string_view path = request.head.path();
  if (path.starts_with(kPreauthenticated)) {
    path.remove_prefix(2);
    request.secret = TakeSegment(path).value_or("");
    if (request.secret.empty() || !path.starts_with("/n/")) {
      return std::nullopt;
    }
  }
  if (path.starts_with(kWorkRequests)) {
    request.object = path.substr(kWorkRequests.size());
    return Resource::kWorkRequest;
  }
  path.remove_prefix(2);  // "/n"
  const auto name_space = TakeSegment(path);
  if (!name_space) {
    return Resource::kNamespace;
  }
  request.name_space = *name_space;
  if (path.empty() || path == "/") {
    return Resource::kNamespace;
  }
  if (TakeSegment(path) != "b") {
    return std::nullopt;
  }
  const auto bucket = TakeSegment(path);
  if (!bucket) {
    return Resource::kBuckets;
  }
  request.bucket = *bucket;
  const auto kind = TakeSegment(path);
  if (!kind) {
    return Resource::kBucket;
  }
  if (kind == "o") {
    return ReadRest(path, Resource::kObjects, Resource::kObject, request);
  }
  if (kind == "u") {
    return ReadRest(path, Resource::kUploads, Resource::kUpload, request);
  }
  if (kind == "p") {
    return ReadRest(path, Resource::kPreauthenticatedAll, Resource::kPreauthenticated, request);
  }
  return kind == "actions" && path == "/copyObject" ? std::optional(Resource::kCopy) : std::nullopt;
}

const Operation* FindOperation(Resource resource, const std::string& method) {
  const auto found = std::ranges::find_if(kOperations, [&](const Operation& operation) {
    return operation.resource == resource && operation.method == method;
  });
  return found == std::end(kOperations) ? nullptr : found;
}

/// Content may come unsigned, as OCI's own tools send it; any other body may not.
bool MustSignBody(const Operation& operation) {
  const std::string_view method = operation.method;
  return operation.receiver == nullptr && (method == "POST" || method == "PUT");
}

class OciDialect : public Dialect {
 public:
  explicit OciDialect(const Context& context) : context_(context) {}

  Routed Route(http::RequestHead head, const Notes& notes) override {
    auto request = std::make_shared<Request>();
    request->head = std::move(head);
    request->notes = notes;
    const std::optional<Query> query = Query::Parse(request->head.query());
    request->query = query.value_or(Query());
    const std::optional<Resource> resource = query ? ReadAddress(*request) : std::nullopt;
    const Operation* operation = resource ? FindOperation(*resource, request->head.method) : nullptr;
    Routed routed;
    routed.bucket = request->bucket;
    routed.key = request->object;
    if (operation != nullptr) {
      routed.operation = operation->name;
      routed.write = operation->write;
    }
    routed.exchange = Open(operation, request);
    return routed;
  }

  http::ServerResponse Refuse(Refusal refusal, int status, const Notes& notes) override {
    switch (refusal) {
      case Refusal::kSlowDown:
        return ErrorAnswer(status == 0 ? 429 : status, "TooManyRequests", "Too many requests", notes);
      case Refusal::kExpiredToken:
        return ErrorAnswer(401, "NotAuthenticated", "The security token has expired", notes);
      case Refusal::kPreconditionFailed:
        return ErrorAnswer(status == 0 ? 412 : status, status == 409 ? "ConcurrentObjectUpdate" : "IfMatchFailed",
                           "The condition of the request did not hold", notes);
      case Refusal::kInternalError:
        break;
    }
    return ErrorAnswer(status == 0 ? 500 : status, "InternalServerError", "Internal server error", notes);
  }

  http::ServerResponse RefuseInside(const Notes& notes) override { return Refuse(Refusal::kInternalError, 0, notes); }

 private:
  std::unique_ptr<http::Exchange> Open(const Operation* operation, const RequestPointer& request) {
    if (operation == nullptr) {
      return http::ReadyExchange(ErrorAnswer(404, "NotFound", "Not Found", request->notes));
    }
    if (std::optional<http::ServerResponse> refused = Authenticate(*operation, *request)) {
      return http::ReadyExchange(std::move(*refused));
    }
    if (!request->bucket.empty() && request->name_space != kNamespace) {
      return http::ReadyExchange(OutcomeAnswer(*request, {StoreCode::kNoSuchBucket, nullptr, {}}));
    }
    if (operation->receiver != nullptr) {
      return operation->receiver(context_, request);
    }
    return http::TextExchange(
        [this, operation, request](std::string_view body) { return Run(*operation, *request, body); }, kMaxBodyBytes);
  }

  http::ServerResponse Run(const Operation& operation, const Request& request, std::string_view body) const {
    const auto bytes = std::as_bytes(std::span(body));
    if (request.body_signed &&
        storage::ChecksumOf(storage::ChecksumKind::kSha256, bytes).Base64() != request.HeaderText("x-content-sha256")) {
      return ErrorAnswer(401, "NotAuthenticated", "The body is not the one that was signed", request.notes);
    }
    return operation.handler(context_, request, body);
  }

  std::optional<http::ServerResponse> Authenticate(const Operation& operation, Request& request) const {
    if (!request.secret.empty()) {
      const auto granted = context_.preauthenticated->Find(request.secret);
      const bool lists = operation.resource == Resource::kObjects;
      const std::string on = lists ? request.query.Get("prefix") : request.object;
      return granted && granted->Allows(operation.name, request.bucket, on)
                 ? std::nullopt
                 : std::optional(ErrorAnswer(404, "NotAuthenticated", "PAR does not exist", request.notes));
    }
    if (context_.credentials->anonymous()) {
      return std::nullopt;
    }
    const storage::OciKeyLookup lookup = [&](std::string_view key_id) -> std::optional<storage::RsaKey> {
      const OciKey* known = context_.credentials->FindOciKey(key_id, UnixSeconds());
      if (known == nullptr) {
        return std::nullopt;
      }
      Result<storage::RsaKey> key = storage::RsaKey::FromPublicPem(known->public_key_pem, known->key_id);
      return key.ok() ? std::optional(std::move(key).value()) : std::nullopt;
    };
    const storage::ReceivedRequest received = {request.head.method, request.head.path(), request.head.query(),
                                               &request.head.headers};
    const storage::OciVerdict verdict = storage::VerifyOciRequest(received, lookup, UnixSeconds());
    if (verdict.kind == storage::OciVerdict::Kind::kAccepted) {
      request.body_signed = verdict.body_signed;
      return verdict.body_signed || !MustSignBody(operation)
                 ? std::nullopt
                 : std::optional(ErrorAnswer(
                       401, "NotAuthenticated",
                       "The signature must cover x-content-sha256, content-length and content-type", request.notes));
    }
    const bool anonymous = verdict.kind == storage::OciVerdict::Kind::kAnonymous;
    return ErrorAnswer(401, anonymous ? "NotAuthenticated" : verdict.code,
                       anonymous ? "The required information to complete authentication was not provided."
                                 : std::string_view(verdict.message),
                       request.notes);
  }

  const Context& context_;
};

}  // namespace

bool IsOciPath(std::string_view path) {
  return path == "/n" || path.starts_with("/n/") || path.starts_with(kPreauthenticated) ||
         path.starts_with(kWorkRequests);
}

std::unique_ptr<Dialect> NewOciDialect(const Context& context) {
  return std::make_unique<OciDialect>(context);
}

}  // namespace assay::objectserver::oci
