// GetObject, HeadObject and GetObjectAttributes.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/conditions.h"
#include "objectserver/s3/google_headers.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

/// What of an object a request asks for.
struct Selection {
  ByteRange range;
  bool partial = false;
  const Part* part = nullptr;  ///< the range is this part of the object
};

ByteRange RangeOfPart(const ObjectRecord& object, const Part* wanted) {
  int64_t offset = 0;
  for (const Part& part : object.parts) {
    if (&part == wanted) {
      break;
    }
    offset += part.size;
  }
  return {offset, wanted->size};
}

/// The part that begins and ends where `range` does.
const Part* PartOfRange(const ObjectRecord& object, const ByteRange& range) {
  int64_t offset = 0;
  for (const Part& part : object.parts) {
    if (offset == range.offset && part.size == range.length) {
      return &part;
    }
    offset += part.size;
  }
  return nullptr;
}

std::optional<Error> SelectPart(const Request& request, const ObjectRecord& object, Selection& selection) {
  const auto number = ParseNumber(request.query.Get("partNumber"));
  if (!number || *number < 1 || request.Header("Range")) {
    return Error{"InvalidRequest", "partNumber must be a positive number, without a Range header"};
  }
  if (object.parts.empty() && *number == 1) {
    selection.partial = true;
    return std::nullopt;
  }
  if (*number > static_cast<int64_t>(object.parts.size())) {
    return Error{"InvalidPartNumber", {}, 0, {{"ActualPartCount", std::to_string(object.parts.size())}}};
  }
  selection.part = &object.parts[static_cast<size_t>(*number - 1)];
  selection.range = RangeOfPart(object, selection.part);
  selection.partial = true;
  return std::nullopt;
}

std::optional<Error> Select(const Request& request, const ObjectRecord& object, Selection& selection) {
  selection.range = {0, object.size()};
  if (request.query.Has("partNumber")) {
    return SelectPart(request, object, selection);
  }
  const auto header = request.Header("Range");
  if (!header) {
    return std::nullopt;
  }
  const RangeOutcome outcome = ApplyRange(*header, object.size());
  if (outcome.kind == RangeOutcome::Kind::kUnsatisfiable) {
    return Error{"InvalidRange",
                 {},
                 0,
                 {{"RangeRequested", std::string(*header)}, {"ActualObjectSize", std::to_string(object.size())}}};
  }
  if (outcome.kind == RangeOutcome::Kind::kPart) {
    selection.range = outcome.range;
    selection.partial = true;
    selection.part = PartOfRange(object, outcome.range);
  }
  return std::nullopt;
}

void AddAttributes(const Request& request, const ObjectRecord& object, http::Headers& headers) {
  const std::string prefix(AnswerPrefix(request));
  headers.Add("ETag", Quoted(object.etag));
  headers.Add("Last-Modified", http::HttpDate(static_cast<int64_t>(std::floor(object.modified))));
  headers.Add("Accept-Ranges", "bytes");
  headers.Add("Content-Type", object.attributes.content_type);
  for (const auto& [name, value] : object.attributes.system) {
    headers.Add(name, value);
  }
  for (const auto& [name, value] : object.attributes.metadata) {
    headers.Add(prefix + "meta-" + name, value);
  }
  if (object.attributes.storage_class != "STANDARD") {
    headers.Add(prefix + "storage-class", object.attributes.storage_class);
  }
  headers.Add("x-goog-generation", std::to_string(object.generation));
  AddGoogleHash(object.digests, headers);
  for (const char* name :
       {"Content-Type", "Content-Language", "Expires", "Cache-Control", "Content-Disposition", "Content-Encoding"}) {
    std::string parameter = std::string("response-") + name;
    std::ranges::transform(parameter, parameter.begin(), [](unsigned char c) { return std::tolower(c); });
    if (const auto value = request.query.Find(parameter)) {
      headers.Set(name, *value);
    }
  }
}

void AddChecksums(const Request& request, const ObjectRecord& object, const Selection& selection,
                  http::Headers& headers) {
  if (request.HeaderText("x-amz-checksum-mode") != "ENABLED") {
    return;
  }
  const bool whole = selection.range.length == object.size();
  if (whole) {
    AddChecksumHeaders(ChecksumOf(object), headers);
  } else if (selection.part != nullptr) {
    AddChecksumHeaders(ChecksumOf(*selection.part), headers);
  }
}

bool IsUserText(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool OverridesAreClean(const Request& request) {
  return std::ranges::all_of(request.query.all(), [](const auto& parameter) {
    return !parameter.first.starts_with("response-") || IsUserText(parameter.second);
  });
}

}  // namespace

http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome found = context.store->Find(request.bucket, request.key);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  const ObjectRecord& object = *found.object;
  if (std::optional<Error> error = JudgeRead(request, object, "")) {
    http::ServerResponse answer = ErrorAnswer(request, *error);
    answer.headers.Add("ETag", Quoted(object.etag));
    return answer;
  }
  Selection selection;
  if (const std::optional<Error> error = Select(request, object, selection)) {
    return ErrorAnswer(request, *error);
  }
  if (!OverridesAreClean(request)) {
    return ErrorAnswer(request, {"InvalidArgument"});
  }
  auto pieces = object.blob.Pieces(selection.range.offset, selection.range.length);
  if (!pieces.ok()) {
    return ErrorAnswer(request, {"InternalError", pieces.status().message()});
  }
  http::ServerResponse answer = Answer(request, selection.partial ? 206 : 200);
  AddAttributes(request, object, answer.headers);
  AddChecksums(request, object, selection, answer.headers);
  if (!object.parts.empty() && request.query.Has("partNumber")) {
    answer.headers.Add("x-amz-mp-parts-count", std::to_string(object.parts.size()));
  }
  if (selection.partial && object.size() > 0) {
    const int64_t last = selection.range.offset + selection.range.length - 1;
    answer.headers.Add("Content-Range", "bytes " + std::to_string(selection.range.offset) + '-' + std::to_string(last) +
                                            '/' + std::to_string(object.size()));
  }
  answer.body = std::move(pieces).value();
  return answer;
}

http::ServerResponse GetObjectAttributes(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome found = context.store->Find(request.bucket, request.key);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  const ObjectRecord& object = *found.object;
  const std::string wanted = request.HeaderText("x-amz-object-attributes");
  const auto wants = [&](std::string_view name) { return wanted.find(name) != std::string::npos; };
  XmlWriter xml;
  xml.OpenRoot("GetObjectAttributesResponse");
  if (wants("ETag")) {
    xml.Leaf("ETag", object.etag);
  }
  if (wants("Checksum")) {
    xml.Open("Checksum");
    WriteChecksums(ChecksumOf(object), true, xml);
    xml.Close();
  }
  if (wants("ObjectParts") && !object.parts.empty()) {
    xml.Open("ObjectParts");
    xml.Leaf("PartsCount", static_cast<int64_t>(object.parts.size()));
    for (const Part& part : object.parts) {
      xml.Open("Part");
      xml.Leaf("PartNumber", static_cast<int64_t>(part.number));
      xml.Leaf("Size", part.size);
      WriteChecksums(ChecksumOf(part), false, xml);
      xml.Close();
    }
    xml.Leaf("IsTruncated", false);
    xml.Close();
  }
  if (wants("StorageClass")) {
    xml.Leaf("StorageClass", object.attributes.storage_class);
  }
  if (wants("ObjectSize")) {
    xml.Leaf("ObjectSize", object.size());
  }
  xml.Close();
  http::ServerResponse answer = XmlAnswer(request, xml.Take());
  answer.headers.Add("Last-Modified", http::HttpDate(static_cast<int64_t>(std::floor(object.modified))));
  return answer;
}

}  // namespace assay::objectserver::s3
