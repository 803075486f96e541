// The namespace, buckets and lists of objects.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "objectserver/oci/operations.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver::oci {
namespace {

using nlohmann::json;

constexpr int64_t kMaxObjects = 1000;

json BucketSummary(const BucketRecord& bucket) {
  return {{"namespace", kNamespace},         {"name", bucket.name},
          {"compartmentId", "assay"},        {"createdBy", "assay"},
          {"etag", "bucket-" + bucket.name}, {"timeCreated", IsoTimestamp(bucket.created)}};
}

json ObjectSummary(const ObjectRecord& object) {
  json summary = {{"name", object.key},
                  {"size", object.size()},
                  {"etag", object.etag},
                  {"timeCreated", IsoTimestamp(object.created)},
                  {"timeModified", IsoTimestamp(object.modified)},
                  {"storageTier", "Standard"}};
  if (const std::string md5 = Base64Of(object.digests, storage::ChecksumKind::kMd5); !md5.empty()) {
    summary["md5"] = md5;
  }
  return summary;
}

}  // namespace

http::ServerResponse GetNamespace(const Context&, const Request& request, std::string_view) {
  return JsonAnswer(request, json(kNamespace));
}

http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view) {
  json items = json::array();
  for (const BucketRecord& bucket : context.store->Buckets()) {
    items.push_back(BucketSummary(bucket));
  }
  return JsonAnswer(request, items);
}

http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view body) {
  const Result<json> details = ParseJson(body, "request");
  std::string name;
  if (!details.ok() || !details->is_object() || !ReadField(*details, "name", name).ok() || !s3::IsBucketName(name)) {
    return ErrorAnswer(400, "InvalidBucketName", "The bucket name '" + name + "' is not valid", request.notes);
  }
  const StoreOutcome outcome = context.store->CreateBucket(name, context.options->region);
  return outcome.ok() ? JsonAnswer(request, BucketSummary(*context.store->FindBucket(name)))
                      : OutcomeAnswer(request, outcome);
}

http::ServerResponse GetBucket(const Context& context, const Request& request, std::string_view) {
  const auto bucket = context.store->FindBucket(request.bucket);
  return bucket ? JsonAnswer(request, BucketSummary(*bucket))
                : OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
}

http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome = context.store->RemoveBucket(request.bucket);
  return outcome.ok() ? Answer(request, 204) : OutcomeAnswer(request, outcome);
}

http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view) {
  ListQuery query;
  query.prefix = request.query.Get("prefix");
  query.delimiter = request.query.Get("delimiter");
  query.start_at = request.query.Get("start");
  query.start_after = request.query.Get("startAfter");
  query.end_before = request.query.Get("end");
  query.max_keys = static_cast<size_t>(
      std::clamp(ParseNumber(request.query.Get("limit")).value_or(kMaxObjects), int64_t{1}, kMaxObjects));
  if (request.notes->stale_list_seconds > 0) {
    query.hide_newer_than = UnixSeconds() - request.notes->stale_list_seconds;
  }
  const ListResult result = context.store->List(request.bucket, query);
  if (result.code != StoreCode::kOk) {
    return OutcomeAnswer(request, {result.code, nullptr, {}});
  }
  json body = {{"objects", json::array()}};
  for (const ObjectPointer& object : result.objects) {
    body["objects"].push_back(ObjectSummary(*object));
  }
  if (!result.prefixes.empty()) {
    body["prefixes"] = result.prefixes;
  }
  if (result.truncated) {
    body["nextStartWith"] = result.next_key;
  }
  return JsonAnswer(request, body);
}

}  // namespace assay::objectserver::oci
