#include "storage/s3/s3_compose.h"

#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/checksum_parts.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/range_reader.h"

namespace assay::storage {
namespace {

/// Of the sources' concatenation, where theirs give it.
std::optional<Checksum> ChecksumOfAll(std::span<const ObjectInfo> sources) {
  std::vector<PartChecksum> parts;
  int64_t total = 0;
  for (const ObjectInfo& source : sources) {
    if (source.size > 0 && !source.checksum) {
      return std::nullopt;
    }
    if (source.size > 0) {
      parts.push_back({total, source.size, *source.checksum});
    }
    total += source.size;
  }
  return CombineParts(std::move(parts), total);
}

Task<Status> UntilBelow(MultipartUpload& upload, int parts) {
  co_return co_await upload.UntilBelow(parts);
}

}  // namespace

Result<std::shared_ptr<std::vector<std::byte>>> S3Compose::ReadRanges(std::span<const ObjectInfo> sources,
                                                                      const ComposedPart& part) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const SourceRange& range : part.ranges) {
    const size_t before = bytes->size();
    bytes->resize(before + static_cast<size_t>(range.bytes));
    const ReadPiece piece{range.offset, MutableBytes(*bytes).subspan(before)};
    const ObjectInfo& source = sources[range.source];
    const ReadOptions options{.if_match = source.etag, .known = &source, .cancel = options_.cancel};
    RangeReader reader(context_, source.key, options);
    ASSAY_RETURN_IF_ERROR(RunHere(reader.ReadPieces(std::span(&piece, 1))).status());
  }
  return bytes;
}

Status S3Compose::AddPart(MultipartUpload& upload, std::span<const ObjectInfo> sources, const ComposedPart& part) {
  if (part.copied) {
    const SourceRange range = part.ranges.front();
    const ObjectInfo& source = sources[range.source];
    upload.AddRemotePart(
        range.bytes,
        [this, range, &source](const std::string& upload_id, int number) {
          return dialect_.CopyPart(source.key, source.etag, range.offset, range.bytes, to_, upload_id, number);
        },
        [this](const http::Response& answer) { return dialect_.ReadCopy(answer); });
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(auto bytes, ReadRanges(sources, part));
  upload.AddPart({Bytes(*bytes)}, [bytes] {});
  return RunHere(UntilBelow(upload, ConnectionsOf(*context_.options)));
}

Result<ObjectInfo> S3Compose::Run(std::span<const ObjectInfo> sources) {
  std::vector<int64_t> sizes;
  for (const ObjectInfo& source : sources) {
    sizes.push_back(source.size);
  }
  const DialectTraits& traits = dialect_.traits();
  const std::vector<ComposedPart> parts = PlanCompose(sizes, traits.min_part_bytes, traits.max_part_bytes);
  if (parts.empty() || (parts.size() == 1 && !parts.front().copied)) {
    ASSAY_ASSIGN_OR_RETURN(auto bytes, ReadRanges(sources, parts.empty() ? ComposedPart() : parts.front()));
    return RunHere(PutWhole(context_, to_, {Bytes(*bytes)}, options_));
  }
  const std::optional<Checksum> whole = ChecksumOfAll(sources);
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(options_.expected, whole, dialect_.Uri(to_)));
  // What the store tells of the parts is held against it before anything is published, else what stands then.
  options_.expected = whole;
  MultipartUpload upload(context_, to_, options_, ConnectionsOf(*context_.options));
  ASSAY_RETURN_IF_ERROR(RunHere(upload.Begin()));
  for (const ComposedPart& part : parts) {
    ASSAY_RETURN_IF_ERROR(AddPart(upload, sources, part));
  }
  return RunHere(upload.Complete());
}

}  // namespace assay::storage
