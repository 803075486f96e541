// PutObject, DeleteObject and DeleteObjects.
#include <pugixml.hpp>
#include <utility>

#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/conditions.h"
#include "objectserver/s3/content.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

constexpr size_t kMaxDeletedKeys = 1000;

http::ServerResponse Publish(Store& store, const Request& request, const Attributes& attributes,
                             const Condition& condition, CheckedContent content) {
  ObjectRecord object;
  object.key = request.key;
  object.blob = std::move(content.blob);
  object.etag = EtagUnder(attributes, std::move(content.etag));
  object.digests = std::move(content.digests);
  object.attributes = attributes;
  const StoreOutcome outcome = store.Put(request.bucket, std::move(object), condition);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  http::ServerResponse answer = Answer(request);
  answer.headers.Add("ETag", Quoted(outcome.object->etag));
  answer.headers.Add("x-goog-generation", std::to_string(outcome.object->generation));
  AddChecksumHeaders(ChecksumOf(*outcome.object), answer.headers);
  AddGoogleHash(outcome.object->digests, answer.headers);
  return answer;
}

/// The keys of a DeleteObjects document.
std::optional<Error> ReadKeys(std::string_view body, std::vector<std::string>& keys, bool& quiet) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size(), pugi::parse_default | pugi::parse_ws_pcdata_single)) {
    return Error{"MalformedXML"};
  }
  const pugi::xml_node root = document.child("Delete");
  quiet = root.child("Quiet").text().as_bool();
  for (const pugi::xml_node object : root.children("Object")) {
    keys.emplace_back(object.child("Key").text().get());
    if (keys.back().empty()) {
      return Error{"MalformedXML"};
    }
  }
  return keys.empty() || keys.size() > kMaxDeletedKeys ? std::optional(Error{"MalformedXML"}) : std::nullopt;
}

}  // namespace

std::unique_ptr<http::Exchange> PutObject(const Context& context, const RequestPointer& request) {
  ContentPlan plan;
  Attributes attributes;
  Condition condition;
  std::optional<Error> error = PlanContent(*request, context.options->always_md5, plan);
  if (!error) {
    error = ReadAttributes(*request, attributes);
  }
  if (!error) {
    error = ReadWriteCondition(*request, condition);
  }
  if (!error && !context.store->FindBucket(request->bucket)) {
    error = Error{"NoSuchBucket", {}, 0, {{"BucketName", request->bucket}}};
  }
  if (error) {
    return http::ReadyExchange(ErrorAnswer(*request, *error));
  }
  return ReceiveContent(*context.store, request, plan, std::nullopt,
                        [store = context.store, request, attributes, condition](CheckedContent content) {
                          return Publish(*store, *request, attributes, condition, std::move(content));
                        });
}

http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view) {
  Condition condition;
  if (const std::optional<Error> error = ReadWriteCondition(request, condition)) {
    return ErrorAnswer(request, *error);
  }
  const StoreOutcome outcome = context.store->Remove(request.bucket, request.key, condition);
  const bool conditional = request.Header("If-Match").has_value();
  return outcome.ok() || (outcome.code == StoreCode::kNoSuchKey && !conditional) ? Answer(request, 204)
                                                                                 : OutcomeAnswer(request, outcome);
}

http::ServerResponse DeleteObjects(const Context& context, const Request& request, std::string_view body) {
  std::vector<std::string> keys;
  bool quiet = false;
  if (const std::optional<Error> error = ReadKeys(body, keys, quiet)) {
    return ErrorAnswer(request, *error);
  }
  if (!context.store->FindBucket(request.bucket)) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
  }
  XmlWriter xml;
  xml.OpenRoot("DeleteResult");
  for (const std::string& key : keys) {
    const StoreOutcome outcome = context.store->Remove(request.bucket, key, {});
    if (outcome.ok() || outcome.code == StoreCode::kNoSuchKey) {
      if (!quiet) {
        xml.Open("Deleted");
        xml.Leaf("Key", key);
        xml.Close();
      }
      continue;
    }
    xml.Open("Error");
    xml.Leaf("Key", key);
    xml.Leaf("Code", "InternalError");
    xml.Leaf("Message", outcome.message);
    xml.Close();
  }
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

}  // namespace assay::objectserver::s3
