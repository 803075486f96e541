// Objects: list, metadata, content, delete.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "objectserver/gcs/operations.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;

constexpr int64_t kMaxResults = 1000;

http::ServerResponse Media(const Request& request, const ObjectRecord& object) {
  const std::string header = request.HeaderText("Range");
  const RangeOutcome outcome = ApplyRange(header, object.size());
  if (outcome.kind == RangeOutcome::Kind::kUnsatisfiable) {
    http::ServerResponse refused = ErrorAnswer(416, "requestedRangeNotSatisfiable", "Request range not satisfiable");
    refused.headers.Add("Content-Range", "bytes */" + std::to_string(object.size()));
    return refused;
  }
  const bool partial = outcome.kind == RangeOutcome::Kind::kPart;
  const ByteRange range = partial ? outcome.range : ByteRange{0, object.size()};
  auto pieces = object.blob.Pieces(range.offset, range.length);
  if (!pieces.ok()) {
    return ErrorAnswer(500, "backendError", pieces.status().message());
  }
  http::ServerResponse response;
  response.status = partial ? 206 : 200;
  response.headers.Add("Content-Type", object.attributes.content_type);
  response.headers.Add("ETag", object.etag);
  response.headers.Add("Last-Modified", http::HttpDate(static_cast<int64_t>(std::floor(object.modified))));
  response.headers.Add("X-Goog-Generation", std::to_string(object.generation));
  response.headers.Add("X-Goog-Metageneration", std::to_string(object.metageneration));
  response.headers.Add("X-Goog-Storage-Class", object.attributes.storage_class);
  response.headers.Add("X-Goog-Stored-Content-Length", std::to_string(object.size()));
  const auto encoding = object.attributes.system.find("Content-Encoding");
  response.headers.Add("X-Goog-Stored-Content-Encoding",
                       encoding == object.attributes.system.end() ? "identity" : encoding->second);
  if (const std::string hash = HashHeader(object); !hash.empty()) {
    response.headers.Add("X-Goog-Hash", hash);
  }
  for (const auto& [name, value] : object.attributes.system) {
    response.headers.Add(name, value);
  }
  if (partial) {
    response.headers.Add("Content-Range", "bytes " + std::to_string(range.offset) + '-' +
                                              std::to_string(range.offset + range.length - 1) + '/' +
                                              std::to_string(object.size()));
  }
  response.body = std::move(pieces).value();
  return response;
}

}  // namespace

http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view) {
  ListQuery query;
  query.prefix = request.query.Get("prefix");
  query.delimiter = request.query.Get("delimiter");
  query.max_keys = static_cast<size_t>(
      std::clamp(ParseNumber(request.query.Get("maxResults")).value_or(kMaxResults), int64_t{1}, kMaxResults));
  if (request.notes->stale_list_seconds > 0) {
    query.hide_newer_than = UnixSeconds() - request.notes->stale_list_seconds;
  }
  const std::string start = request.query.Get("startOffset");
  const std::string end = request.query.Get("endOffset");
  const auto token = request.query.Find("pageToken");
  query.start_after = token ? storage::Base64Decode(*token).value_or("") : "";
  query.start_at = start;
  query.end_before = end;
  const ListResult result = context.store->List(request.bucket, query);
  if (result.code != StoreCode::kOk) {
    return OutcomeAnswer(request, {result.code, nullptr, {}});
  }
  json body = {{"kind", "storage#objects"}};
  for (const ObjectPointer& object : result.objects) {
    body["items"].push_back(ObjectResource(request.bucket, *object, request.head.origin()));
  }
  if (!result.prefixes.empty()) {
    body["prefixes"] = result.prefixes;
  }
  if (result.truncated) {
    body["nextPageToken"] = storage::Base64Encode(result.next_after);
  }
  return JsonAnswer(body);
}

http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome found = context.store->Find(request.bucket, request.object);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  if (std::optional<http::ServerResponse> refused = JudgeRead(request.query, *found.object)) {
    return std::move(*refused);
  }
  return request.query.Get("alt") == "media" ? Media(request, *found.object)
                                             : JsonAnswer(ObjectResource(request.bucket, *found.object,  //
                                                                         request.head.origin()));
}

http::ServerResponse PatchObject(const Context& context, const Request& request, std::string_view body) {
  const Result<json> resource = ParseJson(body, "request");
  if (!resource.ok() || !resource->is_object()) {
    return ErrorAnswer(400, "parseError", "Parse Error");
  }
  const Condition condition = WriteCondition(request.query);
  const StoreOutcome outcome = context.store->UpdateAttributes(
      request.bucket, request.object, condition, [&](Attributes& attributes) { ReadResource(*resource, attributes); });
  return outcome.ok() ? JsonAnswer(ObjectResource(request.bucket, *outcome.object, request.head.origin()))
                      : OutcomeAnswer(request, outcome);
}

http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome = context.store->Remove(request.bucket, request.object, WriteCondition(request.query));
  http::ServerResponse gone;
  gone.status = 204;
  return outcome.ok() ? std::move(gone) : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::gcs
