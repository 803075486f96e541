#include "objectserver/oci/preauthenticated.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "objectserver/oci/operations.h"
#include "storage/auth/time_format.h"

namespace assay::objectserver::oci {
namespace {

using nlohmann::json;

struct AccessRow {
  std::string_view name;
  bool any;  ///< of all objects of a bucket, or those under a prefix
  bool read;
  bool write;
};

constexpr AccessRow kAccess[] = {
    {"ObjectRead", false, true, false},     {"ObjectWrite", false, false, true},
    {"ObjectReadWrite", false, true, true}, {"AnyObjectRead", true, true, false},
    {"AnyObjectWrite", true, false, true},  {"AnyObjectReadWrite", true, true, true},
};

std::string_view AccessOf(const PreauthenticatedRequest& request) {
  const auto row = std::ranges::find_if(kAccess, [&](const AccessRow& access) {
    return access.any == request.object.empty() && access.read == request.read && access.write == request.write;
  });
  return row->name;
}

/// Nothing for details that make no sense.
std::optional<PreauthenticatedRequest> ReadDetails(std::string_view body, const std::string& bucket) {
  const Result<json> details = ParseJson(body, "request");
  if (!details.ok() || !details->is_object()) {
    return std::nullopt;
  }
  const auto access = std::ranges::find(kAccess, TextOf(*details, "accessType"), &AccessRow::name);
  const auto expires = storage::ParseIsoTime(TextOf(*details, "timeExpires"));
  const std::string object = TextOf(*details, "objectName");
  if (access == std::end(kAccess) || !expires || *expires <= UnixSeconds() || TextOf(*details, "name").empty() ||
      (!access->any && object.empty())) {
    return std::nullopt;
  }
  PreauthenticatedRequest request;
  request.name = TextOf(*details, "name");
  request.bucket = bucket;
  (access->any ? request.prefix : request.object) = object;
  request.read = access->read;
  request.write = access->write;
  request.list = access->any && TextOf(*details, "bucketListingAction") == "ListObjects";
  request.created = UnixSeconds();
  request.expires = *expires;
  return request;
}

json Summary(const PreauthenticatedRequest& request) {
  json summary = {{"id", request.id},
                  {"name", request.name},
                  {"accessType", AccessOf(request)},
                  {"bucketListingAction", request.list ? "ListObjects" : "Deny"},
                  {"timeCreated", IsoTimestamp(request.created)},
                  {"timeExpires", IsoTimestamp(request.expires)}};
  if (const std::string& object = request.object.empty() ? request.prefix : request.object; !object.empty()) {
    summary["objectName"] = object;
  }
  return summary;
}

json ToKeep(const std::string& digest, const PreauthenticatedRequest& request) {
  return {{"secret_sha256", digest},    {"id", request.id},          {"name", request.name},
          {"bucket", request.bucket},   {"object", request.object},  {"prefix", request.prefix},
          {"read", request.read},       {"write", request.write},    {"list", request.list},
          {"created", request.created}, {"expires", request.expires}};
}

Status ReadKept(const json& entry, PreauthenticatedRequest& request, std::string& digest) {
  if (!entry.is_object()) {
    return Status::InvalidArgument("an entry is no object of JSON");
  }
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "secret_sha256", digest));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "id", request.id));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "name", request.name));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "bucket", request.bucket));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "object", request.object));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "prefix", request.prefix));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "read", request.read));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "write", request.write));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "list", request.list));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "created", request.created));
  return ReadField(entry, "expires", request.expires);
}

}  // namespace

bool PreauthenticatedRequest::Allows(std::string_view operation, const std::string& in_bucket,
                                     const std::string& on) const {
  if (in_bucket != bucket) {
    return false;
  }
  if (operation == "ListObjects") {
    return list && on.starts_with(prefix);
  }
  const bool there = object.empty() ? on.starts_with(prefix) : on == object;
  const bool reads = operation == "GetObject" || operation == "HeadObject";
  return there && ((reads && read) || (operation == "PutObject" && write));
}

Status PreauthenticatedRequests::UseFile(std::string path) {
  const std::lock_guard lock(mutex_);
  path_ = std::move(path);
  if (!FileExists(path_)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const json document, ReadJsonFile(path_));
  Requests kept;
  for (const json& entry : document.is_array() ? document : json::array({document})) {
    PreauthenticatedRequest request;
    std::string digest;
    ASSAY_RETURN_IF_ERROR(ReadKept(entry, request, digest).WithContext("cannot use " + path_));
    kept[digest] = std::move(request);
  }
  requests_ = std::move(kept);
  return Status::Ok();
}

Status PreauthenticatedRequests::Change(Requests changed) {
  if (!path_.empty()) {
    json document = json::array();
    for (const auto& [digest, request] : changed) {
      document.push_back(ToKeep(digest, request));
    }
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(path_, DumpJsonPretty(document)));
  }
  requests_ = std::move(changed);
  return Status::Ok();
}

Result<std::string> PreauthenticatedRequests::Add(PreauthenticatedRequest request) {
  const std::lock_guard lock(mutex_);
  Requests changed = requests_;
  std::erase_if(changed, [now = UnixSeconds()](const auto& entry) { return entry.second.expires < now; });
  std::string secret = RandomUid() + RandomUid();
  changed[Sha256Hex(secret)] = std::move(request);
  ASSAY_RETURN_IF_ERROR(Change(std::move(changed)));
  return secret;
}

std::optional<PreauthenticatedRequest> PreauthenticatedRequests::Find(std::string_view secret) const {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(Sha256Hex(secret));
  const bool serves = found != requests_.end() && found->second.expires >= UnixSeconds();
  return serves ? std::optional(found->second) : std::nullopt;
}

std::vector<PreauthenticatedRequest> PreauthenticatedRequests::In(const std::string& bucket) const {
  const std::lock_guard lock(mutex_);
  std::vector<PreauthenticatedRequest> found;
  for (const auto& [digest, request] : requests_) {
    if (request.bucket == bucket) {
      found.push_back(request);
    }
  }
  return found;
}

Result<bool> PreauthenticatedRequests::Remove(const std::string& bucket, const std::string& id) {
  const std::lock_guard lock(mutex_);
  Requests changed = requests_;
  if (std::erase_if(changed,
                    [&](const auto& entry) { return entry.second.bucket == bucket && entry.second.id == id; }) == 0) {
    return false;
  }
  ASSAY_RETURN_IF_ERROR(Change(std::move(changed)));
  return true;
}

http::ServerResponse CreatePreauthenticatedRequest(const Context& context, const Request& request,
                                                   std::string_view body) {
  if (!context.store->FindBucket(request.bucket)) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
  }
  std::optional<PreauthenticatedRequest> made = ReadDetails(body, request.bucket);
  if (!made) {
    return ErrorAnswer(400, "InvalidParameter",
                       "name, accessType and a timeExpires to come are required, and objectName for one object",
                       request.notes);
  }
  made->id = "par-" + RandomUid();
  const Result<std::string> secret = context.preauthenticated->Add(*made);
  if (!secret.ok()) {
    return ErrorAnswer(500, "InternalServerError", secret.status().message(), request.notes);
  }
  json answer = Summary(*made);
  answer["accessUri"] = "/p/" + *secret + "/n/" + std::string(kNamespace) + "/b/" +
                        http::PercentEncode(request.bucket) + "/o/" + http::PercentEncode(made->object);
  return JsonAnswer(request, answer);
}

http::ServerResponse ListPreauthenticatedRequests(const Context& context, const Request& request, std::string_view) {
  json items = json::array();
  for (const PreauthenticatedRequest& found : context.preauthenticated->In(request.bucket)) {
    items.push_back(Summary(found));
  }
  return JsonAnswer(request, items);
}

http::ServerResponse DeletePreauthenticatedRequest(const Context& context, const Request& request, std::string_view) {
  const Result<bool> removed = context.preauthenticated->Remove(request.bucket, request.object);
  if (!removed.ok()) {
    return ErrorAnswer(500, "InternalServerError", removed.status().message(), request.notes);
  }
  return *removed ? Answer(request, 204)
                  : ErrorAnswer(404, "NotAuthorizedOrNotFound", "The pre-authenticated request does not exist",
                                request.notes);
}

}  // namespace assay::objectserver::oci
