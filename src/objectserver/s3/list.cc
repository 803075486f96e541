// ListObjects and ListObjectsV2.
#include <algorithm>
#include <optional>

#include "http/message.h"
#include "objectserver/s3/google_headers.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

constexpr int64_t kMaxKeys = 1000;

/// Writes names as `encoding-type` asks: percent-encoded, or as they are.
class NameEncoder {
 public:
  explicit NameEncoder(const Request& request) : url_(request.query.Get("encoding-type") == "url") {}
  std::string operator()(std::string_view name) const {
    return url_ ? http::PercentEncode(name, "/") : std::string(name);
  }
  bool url() const { return url_; }

 private:
  bool url_;
};

/// The parts of the query that both versions share; an error for a wrong one.
std::optional<Error> ReadListQuery(const Request& request, ListQuery& query) {
  query.prefix = request.query.Get("prefix");
  query.delimiter = request.query.Get("delimiter");
  if (const auto text = request.query.Find("max-keys"); text && !text->empty()) {
    const auto keys = ParseNumber(*text);
    if (!keys) {
      return Error{"InvalidArgument",
                   "Provided max-keys not an integer or within integer range",
                   0,
                   {{"ArgumentName", "max-keys"}, {"ArgumentValue", std::string(*text)}}};
    }
    query.max_keys = static_cast<size_t>(std::min(*keys, kMaxKeys));
  }
  const std::string encoding = request.query.Get("encoding-type");
  if (!encoding.empty() && encoding != "url") {
    return Error{"InvalidArgument", "Invalid Encoding Method specified in Request"};
  }
  if (request.notes->stale_list_seconds > 0) {
    query.hide_newer_than = UnixSeconds() - request.notes->stale_list_seconds;
  }
  return std::nullopt;
}

void WriteObject(XmlWriter& xml, const ObjectRecord& object, const NameEncoder& encode, bool owner, bool google) {
  xml.Open("Contents");
  xml.Leaf("Key", encode(object.key));
  xml.Leaf("LastModified", IsoTimestamp(object.modified));
  xml.Leaf("ETag", Quoted(object.etag));
  if (google) {
    xml.Leaf("Generation", std::to_string(object.generation));
  }
  xml.Leaf("Size", object.size());
  xml.Leaf("StorageClass", object.attributes.storage_class);
  if (owner) {
    xml.Open("Owner");
    xml.Leaf("ID", "assay");
    xml.Leaf("DisplayName", "assay");
    xml.Close();
  }
  xml.Close();
}

void WriteEntries(const Request& request, const ListResult& result, const NameEncoder& encode, bool owner,
                  XmlWriter& xml) {
  const bool google = SpeaksGoogle(request);
  for (const ObjectPointer& object : result.objects) {
    WriteObject(xml, *object, encode, owner, google);
  }
  for (const std::string& prefix : result.prefixes) {
    xml.Open("CommonPrefixes");
    xml.Leaf("Prefix", encode(prefix));
    xml.Close();
  }
}

void WriteHead(XmlWriter& xml, const Request& request, const ListQuery& query, const ListResult& result,
               const NameEncoder& encode) {
  xml.Leaf("Name", request.bucket);
  xml.Leaf("Prefix", encode(query.prefix));
  if (!query.delimiter.empty()) {
    xml.Leaf("Delimiter", encode(query.delimiter));
  }
  xml.Leaf("MaxKeys", static_cast<int64_t>(query.max_keys));
  if (encode.url()) {
    xml.Leaf("EncodingType", "url");
  }
  xml.Leaf("IsTruncated", result.truncated);
}

}  // namespace

http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view) {
  ListQuery query;
  if (const std::optional<Error> error = ReadListQuery(request, query)) {
    return ErrorAnswer(request, *error);
  }
  query.start_after = request.query.Get("marker");
  const ListResult result = context.store->List(request.bucket, query);
  if (result.code != StoreCode::kOk) {
    return OutcomeAnswer(request, {result.code, nullptr, {}});
  }
  const NameEncoder encode(request);
  XmlWriter xml;
  xml.OpenRoot("ListBucketResult");
  WriteHead(xml, request, query, result, encode);
  xml.Leaf("Marker", encode(query.start_after));
  if (result.truncated && !query.delimiter.empty()) {
    xml.Leaf("NextMarker", encode(result.next_after));
  }
  WriteEntries(request, result, encode, true, xml);
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

http::ServerResponse ListObjectsV2(const Context& context, const Request& request, std::string_view) {
  ListQuery query;
  if (const std::optional<Error> error = ReadListQuery(request, query)) {
    return ErrorAnswer(request, *error);
  }
  query.start_after = request.query.Get("start-after");
  const auto token = request.query.Find("continuation-token");
  if (token) {
    const auto after = storage::Base64Decode(*token);
    if (!after || after->empty()) {
      return ErrorAnswer(request, {"InvalidArgument", "The continuation token provided is incorrect"});
    }
    query.start_after = *after;
  }
  const ListResult result = context.store->List(request.bucket, query);
  if (result.code != StoreCode::kOk) {
    return OutcomeAnswer(request, {result.code, nullptr, {}});
  }
  const NameEncoder encode(request);
  XmlWriter xml;
  xml.OpenRoot("ListBucketResult");
  WriteHead(xml, request, query, result, encode);
  xml.Leaf("KeyCount", static_cast<int64_t>(result.objects.size() + result.prefixes.size()));
  if (const auto start = request.query.Find("start-after")) {
    xml.Leaf("StartAfter", encode(*start));
  }
  if (token) {
    xml.Leaf("ContinuationToken", *token);
  }
  if (result.truncated) {
    xml.Leaf("NextContinuationToken", storage::Base64Encode(result.next_after));
  }
  WriteEntries(request, result, encode, request.query.Get("fetch-owner") == "true", xml);
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

}  // namespace assay::objectserver::s3
