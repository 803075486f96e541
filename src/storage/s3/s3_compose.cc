#include "storage/s3/s3_compose.h"

#include <memory>
#include <utility>
#include <vector>

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

Result<PooledMemory> S3Compose::ReadRanges(std::span<const ObjectInfo> sources, const ComposedPart& part) {
  int64_t total = 0;
  for (const SourceRange& range : part.ranges) {
    total += range.bytes;
  }
  PooledMemory memory;
  if (total > 0) {
    ASSAY_ASSIGN_OR_RETURN(memory, context_.memory->Take(total, options_.cancel));
  }
  MutableBytes rest = memory.bytes();
  for (const SourceRange& range : part.ranges) {
    const ReadPiece piece{range.offset, rest.first(static_cast<size_t>(range.bytes))};
    rest = rest.subspan(piece.memory.size());
    const ObjectInfo& source = sources[range.source];
    const ReadOptions options{.if_match = source.etag, .known = &source, .cancel = options_.cancel};
    RangeReader reader(context_, source.key, options);
    ASSAY_RETURN_IF_ERROR(RunHere(reader.ReadPieces(std::span(&piece, 1))).status());
  }
  return memory;
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
  ASSAY_ASSIGN_OR_RETURN(PooledMemory read, ReadRanges(sources, part));
  const auto memory = std::make_shared<PooledMemory>(std::move(read));
  memory->SetMoving();
  upload.AddPart({Bytes(memory->bytes())}, [memory] { *memory = {}; });
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
    ASSAY_ASSIGN_OR_RETURN(const PooledMemory memory,
                           ReadRanges(sources, parts.empty() ? ComposedPart() : parts.front()));
    return RunHere(PutWhole(context_, to_, {Bytes(memory.bytes())}, options_));
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
