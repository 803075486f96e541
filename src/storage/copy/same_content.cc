#include "storage/copy/same_content.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "storage/file/file_store.h"

namespace assay::storage {
namespace {

/// What is known of an object's content: S3 calls the MD5 of what was written in one request its etag.
std::optional<Checksum> KnownChecksum(const ObjectInfo& info) {
  if (info.checksum) {
    return info.checksum;
  }
  const auto digest = HexDecode(info.etag);
  return digest && digest->size() == DigestBytes(ChecksumKind::kMd5)
             ? std::optional(Checksum{ChecksumKind::kMd5, *digest})
             : std::nullopt;
}

/// Listings leave checksums out.
Result<std::optional<Checksum>> AskForChecksum(ObjectStore& store, const ObjectInfo& listed, CancelFlag cancel) {
  if (listed.checksum) {
    return listed.checksum;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<ObjectInfo> info, store.Stat(listed.key, cancel));
  if (!info || info->size != listed.size) {
    return std::optional<Checksum>();
  }
  return KnownChecksum(*info);
}

Result<bool> FileHasChecksum(const FileStore& files, const std::string& key, const Checksum& wanted,
                             CancelFlag cancel) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  ASSAY_ASSIGN_OR_RETURN(const MappedObject mapped, files.Map(key));
  ChecksumStream stream(wanted.kind);
  for (Bytes rest = mapped.bytes(); !rest.empty();) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      return Status::Aborted("interrupted while comparing " + files.Uri(key));
    }
    const Bytes block = rest.first(std::min(rest.size(), kBlockBytes));
    stream.Update(block);
    rest = rest.subspan(block.size());
  }
  return stream.Finish() == wanted;
}

}  // namespace

Result<bool> SameContent(ObjectStore& store_a, const ObjectInfo& a, ObjectStore& store_b, const ObjectInfo& b,
                         CancelFlag cancel) {
  if (a.size != b.size || a.size == 0) {
    return a.size == b.size;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Checksum> sum_a, AskForChecksum(store_a, a, cancel));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Checksum> sum_b, AskForChecksum(store_b, b, cancel));
  if (sum_a && sum_b && sum_a->kind == sum_b->kind) {
    return *sum_a == *sum_b;
  }
  if (const auto* files = store_a.as_files(); files != nullptr && sum_b) {
    return FileHasChecksum(*files, a.key, *sum_b, cancel);
  }
  if (const auto* files = store_b.as_files(); files != nullptr && sum_a) {
    return FileHasChecksum(*files, b.key, *sum_a, cancel);
  }
  return false;
}

Result<bool> AreEqual(Comparison comparison, ObjectStore& source_store, const ObjectInfo& source,
                      ObjectStore& target_store, const ObjectInfo& target, CancelFlag cancel) {
  switch (comparison) {
    case Comparison::kNone:
      return false;
    case Comparison::kContent:
      return SameContent(source_store, source, target_store, target, cancel);
    case Comparison::kTime:
      // Most stores list whole seconds, cut off.
      return source.size == target.size && std::floor(source.modified) <= std::floor(target.modified);
    case Comparison::kSize:
      return source.size == target.size;
  }
  return false;
}

}  // namespace assay::storage
