// Buckets, and the token endpoint.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "objectserver/gcs/operations.h"
#include "objectserver/s3/request.h"
#include "objectserver/tokens.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;

json BucketResource(const BucketRecord& bucket) {
  return {{"kind", "storage#bucket"}, {"id", bucket.name},          {"name", bucket.name},
          {"location", "US"},         {"storageClass", "STANDARD"}, {"timeCreated", IsoTimestamp(bucket.created)},
          {"metageneration", "1"},    {"locationType", "region"}};
}

}  // namespace

http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view) {
  json items = json::array();
  const std::string prefix = request.query.Get("prefix");
  for (const BucketRecord& bucket : context.store->Buckets()) {
    if (bucket.name.starts_with(prefix)) {
      items.push_back(BucketResource(bucket));
    }
  }
  return JsonAnswer({{"kind", "storage#buckets"}, {"items", std::move(items)}});
}

http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view body) {
  const Result<json> resource = ParseJson(body, "request");
  std::string name;
  if (!resource.ok() || !resource->is_object() || !ReadField(*resource, "name", name).ok() || !s3::IsBucketName(name)) {
    return ErrorAnswer(400, "invalid", "Invalid bucket name: '" + name + "'");
  }
  const StoreOutcome outcome = context.store->CreateBucket(name, context.options->region);
  return outcome.ok() ? JsonAnswer(BucketResource(*context.store->FindBucket(name))) : OutcomeAnswer(request, outcome);
}

http::ServerResponse GetBucket(const Context& context, const Request& request, std::string_view) {
  const auto bucket = context.store->FindBucket(request.bucket);
  return bucket ? JsonAnswer(BucketResource(*bucket)) : OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
}

http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome = context.store->RemoveBucket(request.bucket);
  http::ServerResponse gone;
  gone.status = 204;
  return outcome.ok() ? std::move(gone) : OutcomeAnswer(request, outcome);
}

http::ServerResponse IssueToken(const Context& context, const Request&, std::string_view body) {
  const auto form = Query::Parse(body);
  const std::string grant = form ? form->Get("grant_type") : "";
  Result<std::string> token = Status::PermissionDenied("the grant type is not supported");
  if (grant == "urn:ietf:params:oauth:grant-type:jwt-bearer") {
    token = context.tokens->Exchange(form->Get("assertion"));
  } else if (grant == "refresh_token" && context.credentials->anonymous()) {
    token = context.tokens->Issue();
  }
  if (!token.ok()) {
    return JsonAnswer({{"error", "invalid_grant"}, {"error_description", token.status().message()}}, 400);
  }
  return JsonAnswer({{"access_token", *token},
                     {"expires_in", static_cast<int64_t>(Tokens::kLifetimeSeconds)},
                     {"token_type", "Bearer"}});
}

}  // namespace assay::objectserver::gcs
