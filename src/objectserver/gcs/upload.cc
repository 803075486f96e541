// Uploads in one request: media, and multipart with its metadata.
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "objectserver/gcs/operations.h"
#include "objectserver/gcs/publish.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;

constexpr std::string_view kDefaultType = "application/octet-stream";

/// "abc" of 'multipart/related; boundary="abc"'.
std::string BoundaryOf(std::string_view content_type) {
  constexpr std::string_view kName = "boundary=";
  const size_t at = content_type.find(kName);
  if (at == std::string_view::npos) {
    return "";
  }
  std::string_view boundary = content_type.substr(at + kName.size());
  boundary = boundary.substr(0, boundary.find(';'));
  if (boundary.size() >= 2 && (boundary.front() == '"' || boundary.front() == '\'')) {
    boundary = boundary.substr(1, boundary.size() - 2);
  }
  return std::string(boundary);
}

struct MimePart {
  std::string content_type;
  std::string_view body;
};

/// The header block and the body of a part whose lines end with `eol`; false when it has no empty line.
bool ReadPart(std::string_view text, const std::string& eol, MimePart& part) {
  const size_t end = text.find(eol + eol);
  if (end == std::string_view::npos) {
    return false;
  }
  std::string_view head = text.substr(0, end);
  part.body = text.substr(end + 2 * eol.size());
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find(eol));
    head.remove_prefix(std::min(line.size() + eol.size(), head.size()));
    const auto header = http::ParseHeaderLine(line);
    http::Headers one;
    if (header) {
      one.Add(header->name, header->value);
    }
    part.content_type = one.Find("Content-Type").value_or(part.content_type);
  }
  return true;
}

/// The two parts of a multipart/related body: metadata and content. Google takes bare line feeds too, and gcsfs sends
/// them.
bool SplitRelated(std::string_view body, const std::string& boundary, MimePart& metadata, MimePart& content) {
  const std::string eol = body.find("--" + boundary + "\r\n") != std::string_view::npos ? "\r\n" : "\n";
  const std::string opening = "--" + boundary + eol;
  const std::string between = eol + opening;
  const std::string closing = eol + "--" + boundary + "--";
  const size_t begin = body.find(opening);
  if (boundary.empty() || begin == std::string_view::npos) {
    return false;
  }
  body.remove_prefix(begin + opening.size());
  const size_t middle = body.find(between);
  const size_t end = body.rfind(closing);
  return middle != std::string_view::npos && end != std::string_view::npos && end >= middle + between.size() &&
         ReadPart(body.substr(0, middle), eol, metadata) &&
         ReadPart(body.substr(middle + between.size(), end - middle - between.size()), eol, content);
}

Result<ReceivedContent> Store(const Context& context, std::string_view bytes, bool md5_sent) {
  const auto size = static_cast<int64_t>(bytes.size());
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<BlobWriter> writer, context.store->NewWriter(size));
  ContentReceiver receiver(std::move(writer), DigestKinds(context, size, md5_sent));
  receiver.Copy(std::as_bytes(std::span(bytes)));
  return receiver.Finish();
}

}  // namespace

std::unique_ptr<http::Exchange> UploadMedia(const Context& context, const RequestPointer& request) {
  AnnouncedHashes hashes;
  if (request->query.Get("name").empty() || !hashes.ReadHeader(request->HeaderText("X-Goog-Hash"))) {
    return http::ReadyExchange(ErrorAnswer(400, "required", "Required parameter: name, with well-formed hashes"));
  }
  if (!context.store->FindBucket(request->bucket)) {
    return http::ReadyExchange(OutcomeAnswer(*request, {StoreCode::kNoSuchBucket, nullptr, {}}));
  }
  auto writer = context.store->NewWriter(request->head.content_length);
  if (!writer.ok()) {
    return http::ReadyExchange(ErrorAnswer(500, "backendError", writer.status().message()));
  }
  const auto kinds = DigestKinds(context, request->head.content_length, !hashes.md5.empty());
  return std::make_unique<ContentExchange>(
      ContentReceiver(std::move(writer).value(), kinds), [&context, request, hashes](Result<ReceivedContent> content) {
        if (!content.ok()) {
          return ErrorAnswer(500, "backendError", content.status().message());
        }
        ObjectRecord object;
        object.key = request->query.Get("name");
        object.attributes.content_type = request->head.headers.Find("Content-Type").value_or(kDefaultType);
        return Publish(context, *request, std::move(object), std::move(content).value(), hashes);
      });
}

http::ServerResponse UploadMultipart(const Context& context, const Request& request, std::string_view body) {
  MimePart metadata;
  MimePart media;
  if (!SplitRelated(body, BoundaryOf(request.HeaderText("Content-Type")), metadata, media)) {
    return ErrorAnswer(400, "badContent", "Malformed multipart body.");
  }
  const Result<json> resource = ParseJson(metadata.body, "metadata");
  AnnouncedHashes hashes;
  if (!resource.ok() || !resource->is_object() || !hashes.ReadResource(*resource)) {
    return ErrorAnswer(400, "parseError", "Malformed metadata in a multipart body.");
  }
  ObjectRecord object;
  object.key = request.query.Get("name");
  if (object.key.empty() && (!ReadField(*resource, "name", object.key).ok() || object.key.empty())) {
    return ErrorAnswer(400, "required", "Required parameter: name");
  }
  object.attributes.content_type = media.content_type.empty() ? std::string(kDefaultType) : media.content_type;
  ReadResource(*resource, object.attributes);
  Result<ReceivedContent> content = Store(context, media.body, !hashes.md5.empty());
  if (!content.ok()) {
    return ErrorAnswer(500, "backendError", content.status().message());
  }
  return Publish(context, request, std::move(object), std::move(content).value(), hashes);
}

}  // namespace assay::objectserver::gcs
