// Objects of the native API.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "objectserver/oci/operations.h"
#include "objectserver/receive.h"

namespace assay::objectserver::oci {
namespace {

using nlohmann::json;
using storage::ChecksumKind;

struct HashHeader {
  const char* name;
  ChecksumKind kind;
};

constexpr HashHeader kHashHeaders[] = {{"Content-MD5", ChecksumKind::kMd5},
                                       {"opc-content-crc32c", ChecksumKind::kCrc32c},
                                       {"opc-content-sha256", ChecksumKind::kSha256},
                                       {"x-content-sha256", ChecksumKind::kSha256}};

std::optional<http::ServerResponse> JudgeDigests(const Request& request, const Digests& digests) {
  for (const HashHeader& header : kHashHeaders) {
    const std::string announced = request.HeaderText(header.name);
    if (!announced.empty() && announced != Base64Of(digests, header.kind)) {
      return ErrorAnswer(
          400, "UnmatchedContentMD5",
          std::string("The computed digest of the request body does not match the ") + header.name + " header",
          request.notes);
    }
  }
  return std::nullopt;
}

void AddObjectHeaders(const ObjectRecord& object, http::Headers& headers) {
  headers.Add("etag", object.etag);
  headers.Add("last-modified", http::HttpDate(static_cast<int64_t>(std::floor(object.modified))));
  headers.Add("accept-ranges", "bytes");
  headers.Add("Content-Type", object.attributes.content_type);
  headers.Add("storage-tier", "Standard");
  for (const auto& [name, value] : object.attributes.system) {
    headers.Add(name, value);
  }
  for (const auto& [name, value] : object.attributes.metadata) {
    headers.Add("opc-meta-" + name, value);
  }
  const std::string md5 = Base64Of(object.digests, ChecksumKind::kMd5);
  if (!object.parts.empty()) {
    headers.Add("opc-multipart-md5", MultipartMd5(object));
  } else if (!md5.empty()) {
    headers.Add("content-md5", md5);
    headers.Add("opc-content-md5", md5);
  }
  if (const std::string crc32c = Base64Of(object.digests, ChecksumKind::kCrc32c); !crc32c.empty()) {
    headers.Add("opc-content-crc32c", crc32c);
  }
}

std::optional<http::ServerResponse> JudgeRead(const Request& request, const ObjectRecord& object) {
  const auto match = request.head.headers.Find("If-Match");
  if (match && Trim(*match) != "*" && Trim(*match) != object.etag) {
    return ErrorAnswer(412, "IfMatchFailed", "The If-Match header does not match the existing entity", request.notes);
  }
  const auto none_match = request.head.headers.Find("If-None-Match");
  if (none_match && (Trim(*none_match) == "*" || Trim(*none_match) == object.etag)) {
    return Answer(request, 304);
  }
  return std::nullopt;
}

}  // namespace

std::string MultipartMd5(const ObjectRecord& object) {
  std::vector<std::string> etags;
  for (const Part& part : object.parts) {
    etags.push_back(part.etag);
  }
  return MultipartEtag(etags);
}

std::unique_ptr<http::Exchange> ReceiveContent(const Context& context, const RequestPointer& request,
                                               ContentDone done) {
  const bool md5_sent = request->head.headers.Has("Content-MD5");
  const std::optional<int64_t> size = request->head.content_length;
  std::set<ChecksumKind> kinds = {ChecksumKind::kCrc32c};
  // MD5 of whatever size would be the slowest part of a large upload.
  if (EtagKind(size.has_value(), size.value_or(0), md5_sent, context.options->always_md5) == ChecksumKind::kMd5) {
    kinds.insert(ChecksumKind::kMd5);
  }
  if (request->head.headers.Has("x-content-sha256") || request->head.headers.Has("opc-content-sha256")) {
    kinds.insert(ChecksumKind::kSha256);
  }
  auto writer = context.store->NewWriter(size);
  if (!writer.ok()) {
    return http::ReadyExchange(ErrorAnswer(500, "InternalServerError", writer.status().message(), request->notes));
  }
  return std::make_unique<ContentExchange>(
      ContentReceiver(std::move(writer).value(), kinds),
      [request, done = std::move(done)](Result<ReceivedContent> content) {
        if (!content.ok()) {
          return ErrorAnswer(500, "InternalServerError", content.status().message(), request->notes);
        }
        if (std::optional<http::ServerResponse> refused = JudgeDigests(*request, content->digests)) {
          return std::move(*refused);
        }
        return done(std::move(content->blob), OpaqueEtag(), std::move(content->digests));
      });
}

std::unique_ptr<http::Exchange> PutObject(const Context& context, const RequestPointer& request) {
  Condition condition;
  if (!ReadCondition(*request, condition)) {
    return http::ReadyExchange(
        ErrorAnswer(400, "InvalidParameter", "The only If-None-Match understood is '*'", request->notes));
  }
  if (!context.store->FindBucket(request->bucket)) {
    return http::ReadyExchange(OutcomeAnswer(*request, {StoreCode::kNoSuchBucket, nullptr, {}}));
  }
  return ReceiveContent(context, request, [&context, request, condition](Blob blob, std::string etag, Digests digests) {
    ObjectRecord object;
    object.key = request->object;
    object.blob = std::move(blob);
    object.etag = std::move(etag);
    object.digests = std::move(digests);
    object.attributes = ReadAttributes(*request);
    const StoreOutcome outcome = context.store->Put(request->bucket, std::move(object), condition);
    if (!outcome.ok()) {
      return OutcomeAnswer(*request, outcome);
    }
    http::ServerResponse answer = Answer(*request);
    answer.headers.Add("etag", outcome.object->etag);
    answer.headers.Add("last-modified", http::HttpDate(static_cast<int64_t>(outcome.object->modified)));
    if (const std::string md5 = Base64Of(outcome.object->digests, ChecksumKind::kMd5); !md5.empty()) {
      answer.headers.Add("opc-content-md5", md5);
    }
    if (request->HeaderText("opc-checksum-algorithm") == "CRC32C") {
      answer.headers.Add("opc-content-crc32c", Base64Of(outcome.object->digests, ChecksumKind::kCrc32c));
    }
    return answer;
  });
}

http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome found = context.store->Find(request.bucket, request.object);
  if (!found.ok()) {
    return OutcomeAnswer(request, found);
  }
  const ObjectRecord& object = *found.object;
  if (std::optional<http::ServerResponse> refused = JudgeRead(request, object)) {
    return std::move(*refused);
  }
  const RangeOutcome outcome = ApplyRange(request.HeaderText("Range"), object.size());
  if (outcome.kind == RangeOutcome::Kind::kUnsatisfiable) {
    return ErrorAnswer(416, "InvalidRange", "The range lies beyond the object's end", request.notes);
  }
  const bool partial = outcome.kind == RangeOutcome::Kind::kPart;
  const ByteRange range = partial ? outcome.range : ByteRange{0, object.size()};
  auto pieces = object.blob.Pieces(range.offset, range.length);
  if (!pieces.ok()) {
    return ErrorAnswer(500, "InternalServerError", pieces.status().message(), request.notes);
  }
  http::ServerResponse answer = Answer(request, partial ? 206 : 200);
  AddObjectHeaders(object, answer.headers);
  if (partial) {
    answer.headers.Add("content-range", "bytes " + std::to_string(range.offset) + '-' +
                                            std::to_string(range.offset + range.length - 1) + '/' +
                                            std::to_string(object.size()));
  }
  answer.body = std::move(pieces).value();
  return answer;
}

http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view) {
  Condition condition;
  if (!ReadCondition(request, condition)) {
    return ErrorAnswer(400, "InvalidParameter", "The only If-None-Match understood is '*'", request.notes);
  }
  const StoreOutcome outcome = context.store->Remove(request.bucket, request.object, condition);
  return outcome.ok() ? Answer(request, 204) : OutcomeAnswer(request, outcome);
}

namespace {

/// CopyObjectDetails, as far as they are understood.
struct CopyDetails {
  std::string from;
  std::string from_etag;  ///< empty: any
  std::string bucket;
  std::string name;
  Condition condition;
  std::optional<std::map<std::string, std::string>> metadata;  ///< nothing: the source's
};

std::optional<CopyDetails> ReadCopyDetails(std::string_view body) {
  const Result<json> parsed = ParseJson(body, "request");
  if (!parsed.ok() || !parsed->is_object()) {
    return std::nullopt;
  }
  CopyDetails details = {.from = TextOf(*parsed, "sourceObjectName"),
                         .from_etag = TextOf(*parsed, "sourceObjectIfMatchETag"),
                         .bucket = TextOf(*parsed, "destinationBucket"),
                         .name = TextOf(*parsed, "destinationObjectName"),
                         .condition = nullptr,
                         .metadata = std::nullopt};
  if (details.from.empty() || details.bucket.empty() || details.name.empty() ||
      TextOf(*parsed, "destinationRegion").empty() || TextOf(*parsed, "destinationNamespace") != kNamespace) {
    return std::nullopt;
  }
  details.condition = ConditionOf(TextOf(*parsed, "destinationObjectIfNoneMatchETag") == "*",
                                  TextOf(*parsed, "destinationObjectIfMatchETag"));
  if (const auto given = parsed->find("destinationObjectMetadata"); given != parsed->end() && given->is_object()) {
    details.metadata.emplace();
    for (const auto& [name, value] : given->items()) {
      if (value.is_string()) {
        (*details.metadata)[MetadataName(name)] = value.get<std::string>();
      }
    }
  }
  return details;
}

}  // namespace

http::ServerResponse CopyObject(const Context& context, const Request& request, std::string_view body) {
  const std::optional<CopyDetails> details = ReadCopyDetails(body);
  if (!details) {
    return ErrorAnswer(400, "InvalidParameter",
                       "sourceObjectName, destinationRegion, destinationNamespace (this one), destinationBucket and "
                       "destinationObjectName are required",
                       request.notes);
  }
  Request source = request;
  source.object = details->from;
  const StoreOutcome found = context.store->Find(request.bucket, source.object);
  if (!found.ok()) {
    return OutcomeAnswer(source, found);
  }
  if (!details->from_etag.empty() && details->from_etag != found.object->etag) {
    return ErrorAnswer(412, "IfMatchFailed", "The source object is not the one that was named", request.notes);
  }
  ObjectRecord object = *found.object;
  object.key = details->name;
  object.etag = OpaqueEtag();
  object.created = 0;
  object.upload_id.clear();
  if (details->metadata) {
    object.attributes.metadata = *details->metadata;
  }
  Request target = request;
  target.bucket = details->bucket;
  const StoreOutcome outcome = context.store->Put(details->bucket, std::move(object), details->condition);
  if (!outcome.ok()) {
    return OutcomeAnswer(target, outcome);
  }
  http::ServerResponse answer = Answer(request, 202);
  answer.headers.Add("opc-work-request-id", "copy-" + request.notes->request_id);
  return answer;
}

http::ServerResponse GetWorkRequest(const Context&, const Request& request, std::string_view) {
  const std::string now = IsoTimestamp(UnixSeconds());
  return JsonAnswer(request, {{"operationType", "COPY_OBJECT"},
                              {"status", "COMPLETED"},
                              {"id", request.object},
                              {"compartmentId", "assay"},
                              {"resources", json::array()},
                              {"percentComplete", 100.0},
                              {"timeAccepted", now},
                              {"timeStarted", now},
                              {"timeFinished", now}});
}

}  // namespace assay::objectserver::oci
