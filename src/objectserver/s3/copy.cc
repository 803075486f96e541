// CopyObject and UploadPartCopy: content is shared, never copied.
#include <optional>
#include <utility>

#include "http/message.h"
#include "objectserver/s3/checksum_fields.h"
#include "objectserver/s3/conditions.h"
#include "objectserver/s3/content.h"
#include "objectserver/s3/google_headers.h"
#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

constexpr int64_t kMaxCopyBytes = int64_t{5} << 30;

/// Finds the object of x-amz-copy-source and judges its conditions; on an error `answer` says which.
ObjectPointer FindSource(const Context& context, const Request& request, http::ServerResponse& answer) {
  std::string header = request.HeaderText("x-amz-copy-source");
  std::string version;
  if (const size_t mark = header.find("?versionId="); mark != std::string::npos) {
    version = header.substr(mark + std::string_view("?versionId=").size());
    header.resize(mark);
  }
  const std::optional<std::string> path = http::PercentDecode(header);
  const std::string_view source =
      !path ? std::string_view() : std::string_view(*path).substr(path->starts_with('/') ? 1 : 0);
  const size_t slash = source.find('/');
  if (slash == std::string_view::npos || slash + 1 == source.size()) {
    answer = ErrorAnswer(request, {"InvalidArgument",
                                   "Copy Source must mention the source bucket and key: "
                                   "sourcebucket/sourcekey"});
    return nullptr;
  }
  const StoreOutcome found =
      context.store->Find(std::string(source.substr(0, slash)), std::string(source.substr(slash + 1)));
  if (!found.ok()) {
    answer = OutcomeAnswer(request, found);
    return nullptr;
  }
  if (!version.empty() && version != "null") {
    answer = ErrorAnswer(request, {"NoSuchVersion"});
    return nullptr;
  }
  if (const std::optional<Error> error = JudgeRead(request, *found.object, "x-amz-copy-source-")) {
    answer = ErrorAnswer(request, *error);
    return nullptr;
  }
  return found.object;
}

std::string CopyDocument(std::string_view root, const std::string& etag, double modified,
                         const std::optional<ChecksumField>& checksum) {
  XmlWriter xml;
  xml.OpenRoot(root);
  xml.Leaf("LastModified", IsoTimestamp(modified));
  xml.Leaf("ETag", Quoted(etag));
  WriteChecksums(checksum, false, xml);
  xml.Close();
  return xml.Take();
}

/// What a copy is described by where its request names nothing: Google records a CRC32C of every object.
ChecksumKind UsualKind(const Request& request) {
  return SpeaksGoogle(request) ? ChecksumKind::kCrc32c : ChecksumKind::kCrc64Nvme;
}

/// A copy is one object, whatever its source was made of; its tag is made as a put's would be.
Status DescribeContent(const Context& context, ChecksumKind kind, ObjectRecord& object) {
  const ChecksumKind etag_kind = EtagKind(true, object.size(), false, context.options->always_md5);
  DigestSet set({kind, etag_kind});
  ASSAY_RETURN_IF_ERROR(object.blob.ForEachPiece([&](std::span<const std::byte> bytes) { set.Update(bytes); }));
  Digests digests = set.Finish();
  object.etag = EtagUnder(object.attributes, EtagOf(digests, etag_kind, object.size()));
  if (kind != ChecksumKind::kCrc64Nvme) {
    digests.erase(ChecksumKind::kCrc64Nvme);
  }
  object.digests = std::move(digests);
  return Status::Ok();
}

std::optional<Error> ReadSourceRange(const Request& request, const ObjectRecord& source, ByteRange& range) {
  range = {0, source.size()};
  const auto header = request.Header("x-amz-copy-source-range");
  if (!header) {
    return std::nullopt;
  }
  const RangeOutcome outcome = ApplyRange(*header, source.size());
  if (outcome.kind != RangeOutcome::Kind::kPart) {
    return Error{"InvalidArgument",
                 "The x-amz-copy-source-range value must be of the form bytes=first-last where "
                 "first and last are the zero-based offsets of the first and last bytes to copy"};
  }
  range = outcome.range;
  return std::nullopt;
}

}  // namespace

http::ServerResponse CopyObject(const Context& context, const Request& request, std::string_view) {
  http::ServerResponse answer;
  const ObjectPointer source = FindSource(context, request, answer);
  if (!source) {
    return answer;
  }
  ObjectRecord object;
  object.key = request.key;
  object.blob = source->blob;
  object.attributes = source->attributes;
  Condition condition;
  std::optional<Error> error = ReadWriteCondition(request, condition);
  if (!error && request.HeaderText("x-amz-metadata-directive") == "REPLACE") {
    object.attributes = {};
    error = ReadAttributes(request, object.attributes);
  } else if (context.store->Find(request.bucket, request.key).object == source &&
             !request.Header("x-amz-storage-class")) {
    error = Error{"InvalidRequest",
                  "This copy request is illegal because it is trying to copy an object to itself without changing the "
                  "object's metadata, storage class, website redirect location or encryption attributes."};
  }
  if (!error && source->size() > kMaxCopyBytes) {
    error = Error{"InvalidRequest",
                  "The specified copy source is larger than the maximum allowable size for a copy "
                  "source: 5368709120"};
  }
  if (error) {
    return ErrorAnswer(request, *error);
  }
  const auto asked = KindOfUpperName(request.HeaderText("x-amz-checksum-algorithm"));
  if (const Status status = DescribeContent(context, asked.value_or(UsualKind(request)), object); !status.ok()) {
    return ErrorAnswer(request, {"InternalError", status.message()});
  }
  const StoreOutcome outcome = context.store->Put(request.bucket, std::move(object), condition);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  const ObjectRecord& copy = *outcome.object;
  answer = XmlAnswer(request, CopyDocument("CopyObjectResult", copy.etag, copy.modified, ChecksumOf(copy)));
  answer.headers.Add("x-goog-generation", std::to_string(copy.generation));
  return answer;
}

http::ServerResponse UploadPartCopy(const Context& context, const Request& request, std::string_view) {
  http::ServerResponse answer;
  const auto upload = context.store->FindUploadHead(request.bucket, request.query.Get("uploadId"));
  const auto number = ParseNumber(request.query.Get("partNumber"));
  if (!upload || upload->key != request.key) {
    return OutcomeAnswer(request, {StoreCode::kNoSuchUpload, nullptr, {}});
  }
  if (!number || *number < 1 || *number > 10000) {
    return ErrorAnswer(request, {"InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive"});
  }
  const ObjectPointer source = FindSource(context, request, answer);
  if (!source) {
    return answer;
  }
  ByteRange range;
  if (const std::optional<Error> error = ReadSourceRange(request, *source, range)) {
    return ErrorAnswer(request, *error);
  }
  ObjectRecord slice;
  slice.blob = source->blob.Slice(range.offset, range.length);
  slice.attributes = upload->attributes;
  if (const Status status = DescribeContent(context, upload->checksum_kind.value_or(ChecksumKind::kCrc64Nvme), slice);
      !status.ok()) {
    return ErrorAnswer(request, {"InternalError", status.message()});
  }
  const Part part{static_cast<int>(*number), range.length, slice.etag, slice.digests, UnixSeconds(), slice.blob};
  const StoreOutcome outcome = context.store->PutPart(request.bucket, upload->id, part);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  return XmlAnswer(request, CopyDocument("CopyPartResult", part.etag, part.modified, ChecksumOf(part)));
}

}  // namespace assay::objectserver::s3
