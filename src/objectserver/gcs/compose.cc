// Objects made of objects, within the store.
#include "objectserver/compose.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "objectserver/gcs/operations.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;

/// Finds one source and appends it; on an error `answer` says which.
bool AppendSource(const Context& context, const Request& request, const json& source, ObjectRecord& object,
                  http::ServerResponse& answer) {
  Request named = request;
  if (!source.is_object() || !ReadField(source, "name", named.object).ok() || named.object.empty()) {
    answer = ErrorAnswer(400, "invalid", "Each source object must have a name.");
    return false;
  }
  std::string generation;
  [[maybe_unused]] const Status any = ReadField(source, "generation", generation);
  const StoreOutcome found = AppendComposeSource(*context.store, request.bucket, named.object, generation, object);
  if (!found.ok()) {
    answer = OutcomeAnswer(named, found);
  }
  return found.ok();
}

/// Puts a copy of the request's object where it says.
StoreOutcome CopyTo(const Context& context, const Request& request, std::string_view body, const ObjectRecord& source) {
  ObjectRecord object = source;
  object.key = request.destination_object;
  object.created = 0;
  object.metageneration = 1;
  object.upload_id.clear();
  if (const Result<json> resource = ParseJson(body, "request"); resource.ok() && resource->is_object()) {
    ReadResource(*resource, object.attributes);
  }
  return context.store->Put(request.destination_bucket, std::move(object), WriteCondition(request.query));
}

}  // namespace

http::ServerResponse Compose(const Context& context, const Request& request, std::string_view body) {
  const Result<json> parsed = ParseJson(body, "request");
  if (!parsed.ok() || !parsed->is_object() || !parsed->contains("sourceObjects") ||
      !(*parsed)["sourceObjects"].is_array()) {
    return ErrorAnswer(400, "invalid", "You must provide the source objects.");
  }
  const json& sources = (*parsed)["sourceObjects"];
  if (sources.empty() || sources.size() > kMaxComposeSources) {
    return ErrorAnswer(400, "invalid", "The number of source components provided must lie between 1 and 32.");
  }
  ObjectRecord object;
  object.key = request.object;
  object.attributes.content_type = "application/octet-stream";
  if (parsed->contains("destination") && (*parsed)["destination"].is_object()) {
    ReadResource((*parsed)["destination"], object.attributes);
  }
  http::ServerResponse answer;
  for (const json& source : sources) {
    if (!AppendSource(context, request, source, object, answer)) {
      return answer;
    }
  }
  SealComposite(object);
  const StoreOutcome outcome = context.store->Put(request.bucket, std::move(object), WriteCondition(request.query));
  return outcome.ok() ? JsonAnswer(ObjectResource(request.bucket, *outcome.object, request.head.origin()))
                      : OutcomeAnswer(request, outcome);
}

http::ServerResponse Rewrite(const Context& context, const Request& request, std::string_view body) {
  const StoreOutcome found = context.store->Find(request.bucket, request.object);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  const StoreOutcome outcome = CopyTo(context, request, body, *found.object);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  const std::string size = std::to_string(outcome.object->size());
  return JsonAnswer({{"kind", "storage#rewriteResponse"},
                     {"totalBytesRewritten", size},
                     {"objectSize", size},
                     {"done", true},
                     {"resource", ObjectResource(request.destination_bucket, *outcome.object, request.head.origin())}});
}

http::ServerResponse Copy(const Context& context, const Request& request, std::string_view body) {
  const StoreOutcome found = context.store->Find(request.bucket, request.object);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  const StoreOutcome outcome = CopyTo(context, request, body, *found.object);
  return outcome.ok() ? JsonAnswer(ObjectResource(request.destination_bucket, *outcome.object, request.head.origin()))
                      : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::gcs
