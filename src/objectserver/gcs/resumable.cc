// Resumable uploads: a session, chunks of multiples of 256 KiB, and the question how far they have come.
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "http/message.h"
#include "objectserver/compose.h"
#include "objectserver/gcs/operations.h"
#include "objectserver/gcs/publish.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;
using storage::ChecksumKind;

constexpr int64_t kChunkMultiple = 256 << 10;
// What a session remembers of the request that began it.
constexpr const char* kQueryNote = "query";
constexpr const char* kCrc32cNote = "crc32c";
constexpr const char* kMd5Note = "md5";

/// "bytes 0-99/200", "bytes 0-99/*", "bytes */200", "bytes */*".
struct ContentRange {
  std::optional<int64_t> first;  ///< nothing: only a question
  int64_t last = -1;
  std::optional<int64_t> total;
};

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view range = text.substr(kUnit.size(), slash - kUnit.size());
  const std::string_view total = text.substr(slash + 1);
  ContentRange parsed;
  parsed.total = ParseNumber(total);
  if (!parsed.total && total != "*") {
    return std::nullopt;
  }
  if (range == "*") {
    return parsed;
  }
  const size_t dash = range.find('-');
  const auto first = ParseNumber(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? std::nullopt : ParseNumber(range.substr(dash + 1));
  if (!first || !last || *last < *first || (parsed.total && *last >= *parsed.total)) {
    return std::nullopt;
  }
  parsed.first = first;
  parsed.last = *last;
  return parsed;
}

int64_t PersistedBytes(const Upload& upload) {
  int64_t bytes = 0;
  for (const auto& [number, part] : upload.parts) {
    bytes += part.size;
  }
  return bytes;
}

http::ServerResponse Incomplete(int64_t persisted) {
  http::ServerResponse response;
  response.status = 308;
  if (persisted > 0) {
    response.headers.Add("Range", "bytes=0-" + std::to_string(persisted - 1));
  }
  return response;
}

/// The object that the session's chunks make: one without parts.
Result<ObjectRecord> Assemble(const Upload& upload) {
  ObjectRecord object;
  object.key = upload.key;
  object.attributes = upload.attributes;
  std::vector<std::string> digests = {DigestSet({ChecksumKind::kCrc32c}).Finish().at(ChecksumKind::kCrc32c)};
  std::vector<int64_t> sizes = {0};
  std::vector<std::string> etags;
  for (const auto& [number, part] : upload.parts) {
    ASSAY_ASSIGN_OR_RETURN(std::string crc32c, Crc32cOf(part.digests, part.blob));
    digests.push_back(std::move(crc32c));
    object.blob.Append(part.blob);
    sizes.push_back(part.size);
    etags.push_back(part.etag);
  }
  if (upload.parts.size() == 1) {
    object.digests = upload.parts.begin()->second.digests;
    object.digests.erase(ChecksumKind::kCrc64Nvme);
  }
  object.digests[ChecksumKind::kCrc32c] = CombineDigests(ChecksumKind::kCrc32c, digests, sizes);
  object.etag = etags.size() == 1 ? etags.front() : MultipartEtag(etags);
  return object;
}

std::string NoteOf(const Upload& upload, const char* name) {
  const auto found = upload.notes.find(name);
  return found == upload.notes.end() ? "" : found->second;
}

http::ServerResponse Complete(const Context& context, const Request& request, const Upload& upload) {
  Result<ObjectRecord> object = Assemble(upload);
  if (!object.ok()) {
    return ErrorAnswer(500, "backendError", object.status().message());
  }
  AnnouncedHashes first{NoteOf(upload, kCrc32cNote), NoteOf(upload, kMd5Note)};
  AnnouncedHashes last;
  if (!last.ReadHeader(request.HeaderText("X-Goog-Hash"))) {
    return ErrorAnswer(400, "invalid", "Malformed X-Goog-Hash.");
  }
  if (!object->digests.contains(ChecksumKind::kMd5)) {
    first.md5 = last.md5 = "";  // of several chunks only the CRC32C is known
  }
  if (!first.Match(object->digests) || !last.Match(object->digests)) {
    return ErrorAnswer(400, "invalid", "Provided hash does not match the calculated hash of the uploaded content.");
  }
  const auto query = Query::Parse(NoteOf(upload, kQueryNote));
  const StoreOutcome outcome =
      context.store->CompleteUpload(request.bucket, upload.id, std::move(*object), WriteCondition(*query));
  return outcome.ok() ? JsonAnswer(ObjectResource(request.bucket, *outcome.object, request.head.origin()))
                      : OutcomeAnswer(request, outcome);
}

/// Of uploads that other dialects began the id is no secret, so it is no session.
std::optional<Upload> FindSession(const Context& context, const Request& request) {
  std::optional<Upload> upload = context.store->FindUpload(request.bucket, request.query.Get("upload_id"));
  return upload && upload->notes.contains(kQueryNote) ? std::move(upload) : std::nullopt;
}

/// A chunk that came: what the session has already of it is dropped.
http::ServerResponse TakeChunk(const Context& context, const Request& request, const ContentRange& range,
                               ReceivedContent content) {
  const std::optional<Upload> upload = FindSession(context, request);
  if (!upload) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  const int64_t persisted = PersistedBytes(*upload);
  const int64_t known = persisted - *range.first;
  if (content.blob.size() != range.last - *range.first + 1 || known < 0) {
    return ErrorAnswer(400, "invalid", "Content-Range does not fit the body or what came before it.");
  }
  if (known < content.blob.size()) {
    Part part;
    part.number = static_cast<int>(upload->parts.size()) + 1;
    part.blob = content.blob;
    if (known > 0) {
      part.blob = content.blob.Slice(known, content.blob.size() - known);
      DigestSet digests({ChecksumKind::kCrc32c, ChecksumKind::kCrc64Nvme});
      if (!part.blob.ForEachPiece([&](std::span<const std::byte> bytes) { digests.Update(bytes); }).ok()) {
        return ErrorAnswer(500, "backendError", "cannot read what was uploaded");
      }
      content.digests = digests.Finish();
    }
    part.size = part.blob.size();
    const ChecksumKind kind =
        content.digests.contains(ChecksumKind::kMd5) ? ChecksumKind::kMd5 : ChecksumKind::kCrc64Nvme;
    part.etag = EtagOf(content.digests, kind, part.size);
    part.digests = std::move(content.digests);
    if (const StoreOutcome outcome = context.store->PutPart(request.bucket, upload->id, part); !outcome.ok()) {
      return OutcomeAnswer(request, outcome);
    }
  }
  const std::optional<Upload> grown = context.store->FindUpload(request.bucket, upload->id);
  const int64_t now = grown ? PersistedBytes(*grown) : 0;
  return grown && range.total && now == *range.total ? Complete(context, request, *grown) : Incomplete(now);
}

/// What a session that is no longer there has become, or that it never was: what uploads of other dialects made has
/// parts.
http::ServerResponse AnswerForgotten(const Context& context, const Request& request) {
  const std::string id = request.query.Get("upload_id");
  const StoreOutcome found = context.store->Find(request.bucket, request.query.Get("name"));
  if (found.ok() && !id.empty() && found.object->upload_id == id && found.object->parts.empty()) {
    return JsonAnswer(ObjectResource(request.bucket, *found.object, request.head.origin()));
  }
  return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
}

std::optional<http::ServerResponse> JudgeChunk(const Request& request, const ContentRange& range) {
  const int64_t length = range.last - *range.first + 1;
  if (request.head.content_length && *request.head.content_length != length) {
    return ErrorAnswer(400, "invalid", "Content-Range does not fit Content-Length.");
  }
  const bool last = range.total && range.last + 1 == *range.total;
  if (!last && length % kChunkMultiple != 0) {
    return ErrorAnswer(400, "invalid", "Chunks but the last must be multiples of 262144 bytes.");
  }
  return std::nullopt;
}

}  // namespace

http::ServerResponse BeginResumable(const Context& context, const Request& request, std::string_view body) {
  Upload upload;
  upload.attributes.content_type = request.HeaderText("X-Upload-Content-Type");
  upload.key = request.query.Get("name");
  AnnouncedHashes hashes;
  if (!body.empty()) {
    const Result<json> resource = ParseJson(body, "metadata");
    if (!resource.ok() || !resource->is_object() || !hashes.ReadResource(*resource)) {
      return ErrorAnswer(400, "parseError", "Parse Error");
    }
    std::string name;
    if (upload.key.empty() && ReadField(*resource, "name", name).ok()) {
      upload.key = name;
    }
    ReadResource(*resource, upload.attributes);
  }
  if (upload.key.empty()) {
    return ErrorAnswer(400, "required", "Required parameter: name");
  }
  if (upload.attributes.content_type.empty()) {
    upload.attributes.content_type = "application/octet-stream";
  }
  upload.notes = {
      {kQueryNote, std::string(request.head.query())}, {kCrc32cNote, hashes.crc32c}, {kMd5Note, hashes.md5}};
  const StoreOutcome outcome = context.store->CreateUpload(request.bucket, upload);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  http::ServerResponse response;
  response.headers.Add("Location", request.head.origin() + "/upload/storage/v1/b/" + request.bucket +
                                       "/o?uploadType=resumable&name=" + http::PercentEncode(upload.key) +
                                       "&upload_id=" + outcome.message);
  response.headers.Add("X-GUploader-UploadID", outcome.message);
  return response;
}

std::unique_ptr<http::Exchange> ContinueResumable(const Context& context, const RequestPointer& request) {
  const std::optional<Upload> upload = FindSession(context, *request);
  if (!upload) {
    return http::ReadyExchange(AnswerForgotten(context, *request));
  }
  const std::string header = request->HeaderText("Content-Range");
  const int64_t length = request->head.content_length.value_or(0);
  std::optional<ContentRange> range = ParseContentRange(header);
  if (header.empty()) {
    range = length > 0 ? ContentRange{0, length - 1, length} : ContentRange{std::nullopt, -1, 0};
  }
  if (!range) {
    return http::ReadyExchange(ErrorAnswer(400, "invalid", "Malformed Content-Range."));
  }
  if (!range->first) {
    const int64_t persisted = PersistedBytes(*upload);
    return http::ReadyExchange(range->total == persisted ? Complete(context, *request, *upload)
                                                         : Incomplete(persisted));
  }
  if (std::optional<http::ServerResponse> refused = JudgeChunk(*request, *range)) {
    return http::ReadyExchange(std::move(*refused));
  }
  auto writer = context.store->NewWriter(range->last - *range->first + 1);
  if (!writer.ok()) {
    return http::ReadyExchange(ErrorAnswer(500, "backendError", writer.status().message()));
  }
  const bool whole = range->first == 0 && range->total == range->last + 1;
  const auto kinds = DigestKinds(context, range->last - *range->first + 1, whole && !NoteOf(*upload, kMd5Note).empty());
  return std::make_unique<ContentExchange>(
      ContentReceiver(std::move(writer).value(), kinds),
      [&context, request, range = *range](Result<ReceivedContent> content) {
        return content.ok() ? TakeChunk(context, *request, range, std::move(content).value())
                            : ErrorAnswer(500, "backendError", content.status().message());
      });
}

http::ServerResponse AbortResumable(const Context& context, const Request& request, std::string_view) {
  const std::optional<Upload> upload = FindSession(context, request);
  const StoreOutcome outcome = upload ? context.store->AbortUpload(request.bucket, upload->key, upload->id)
                                      : StoreOutcome{StoreCode::kNoSuchUpload, nullptr, {}};
  http::ServerResponse response;
  response.status = 499;  // what Google answers to a cancelled session
  return outcome.ok() ? std::move(response) : OutcomeAnswer(request, outcome);
}

}  // namespace assay::objectserver::gcs
