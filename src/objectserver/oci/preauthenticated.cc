#include "objectserver/oci/preauthenticated.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

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

}  // namespace

bool PreauthenticatedRequest::Allows(std::string_view operation, const std::string& in_bucket,
                                     const std::string& on_object) const {
  if (in_bucket != bucket) {
    return false;
  }
  if (operation == "ListObjects") {
    return list;
  }
  const bool there = object.empty() ? on_object.starts_with(prefix) : on_object == object;
  const bool reads = operation == "GetObject" || operation == "HeadObject";
  return there && ((reads && read) || (operation == "PutObject" && write));
}

std::string PreauthenticatedRequests::Add(PreauthenticatedRequest request) {
  const std::lock_guard lock(mutex_);
  std::erase_if(requests_, [now = UnixSeconds()](const auto& entry) { return entry.second.expires < now; });
  std::string secret = RandomUid() + RandomUid();
  requests_[secret] = std::move(request);
  return secret;
}

std::optional<PreauthenticatedRequest> PreauthenticatedRequests::Find(std::string_view secret) const {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(secret);
  const bool serves = found != requests_.end() && found->second.expires >= UnixSeconds();
  return serves ? std::optional(found->second) : std::nullopt;
}

std::vector<PreauthenticatedRequest> PreauthenticatedRequests::In(const std::string& bucket) const {
  const std::lock_guard lock(mutex_);
  std::vector<PreauthenticatedRequest> found;
  for (const auto& [secret, request] : requests_) {
    if (request.bucket == bucket) {
      found.push_back(request);
    }
  }
  return found;
}

bool PreauthenticatedRequests::Remove(const std::string& bucket, const std::string& id) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(requests_,
                       [&](const auto& entry) { return entry.second.bucket == bucket && entry.second.id == id; }) > 0;
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
  const std::string secret = context.preauthenticated->Add(*made);
  json answer = Summary(*made);
  answer["accessUri"] = "/p/" + secret + "/n/" + std::string(kNamespace) + "/b/" + http::PercentEncode(request.bucket) +
                        "/o/" + http::PercentEncode(made->object);
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
  return context.preauthenticated->Remove(request.bucket, request.object)
             ? Answer(request, 204)
             : ErrorAnswer(404, "NotAuthorizedOrNotFound", "The pre-authenticated request does not exist",
                           request.notes);
}

}  // namespace assay::objectserver::oci
