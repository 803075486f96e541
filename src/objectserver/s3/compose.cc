// PUT ?compose, of Google's XML dialect: S3 has no such request.
#include "objectserver/compose.h"

#include <optional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/conditions.h"
#include "objectserver/s3/operations.h"

namespace assay::objectserver::s3 {
namespace {

struct Component {
  std::string name;
  std::string generation;  ///< empty: any
};

std::optional<Error> ReadComponents(std::string_view body, std::vector<Component>& components) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size(), pugi::parse_default | pugi::parse_ws_pcdata_single)) {
    return Error{"MalformedXML"};
  }
  for (const pugi::xml_node node : document.child("ComposeRequest").children("Component")) {
    components.push_back({node.child("Name").text().get(), node.child("Generation").text().get()});
    if (components.back().name.empty()) {
      return Error{"MalformedXML"};
    }
  }
  if (components.empty() || components.size() > kMaxComposeSources) {
    return Error{"InvalidArgument", "The number of source components provided must lie between 1 and 32."};
  }
  return std::nullopt;
}

http::ServerResponse Composed(const Request& request, const ObjectRecord& object) {
  http::ServerResponse answer = Answer(request);
  answer.headers.Add("ETag", Quoted(object.etag));
  answer.headers.Add("x-goog-generation", std::to_string(object.generation));
  answer.headers.Add("x-goog-component-count", std::to_string(object.parts.size()));
  AddGoogleHash(object.digests, answer.headers);
  return answer;
}

}  // namespace

http::ServerResponse ComposeObject(const Context& context, const Request& request, std::string_view body) {
  std::vector<Component> components;
  ObjectRecord object;
  object.key = request.key;
  Condition condition;
  std::optional<Error> error = ReadComponents(body, components);
  if (!error) {
    error = ReadAttributes(request, object.attributes);
  }
  if (!error) {
    error = ReadWriteCondition(request, condition);
  }
  if (error) {
    return ErrorAnswer(request, *error);
  }
  for (const Component& component : components) {
    const StoreOutcome found =
        AppendComposeSource(*context.store, request.bucket, component.name, component.generation, object);
    if (!found.ok()) {
      return OutcomeAnswer(request, found);
    }
  }
  SealComposite(object);
  const StoreOutcome outcome = context.store->Put(request.bucket, std::move(object), condition);
  return outcome.ok() ? Composed(request, *outcome.object) : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::s3
