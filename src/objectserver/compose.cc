#include "objectserver/compose.h"

#include <utility>
#include <vector>

namespace assay::objectserver {
using storage::ChecksumKind;

Result<std::string> Crc32cOf(const Digests& digests, const Blob& content) {
  if (const auto found = digests.find(ChecksumKind::kCrc32c); found != digests.end()) {
    return found->second;
  }
  DigestSet set({ChecksumKind::kCrc32c});
  ASSAY_RETURN_IF_ERROR(content.ForEachPiece([&](std::span<const std::byte> bytes) { set.Update(bytes); }));
  return set.Finish().at(ChecksumKind::kCrc32c);
}

StoreOutcome AppendComposeSource(const Store& store, const std::string& bucket, const std::string& name,
                                 const std::string& generation, ObjectRecord& object) {
  StoreOutcome found = store.Find(bucket, name);
  if (!found.ok()) {
    return found;
  }
  if (!generation.empty() && generation != std::to_string(found.object->generation)) {
    return {StoreCode::kNoSuchKey, nullptr, {}};
  }
  const Result<std::string> crc32c = Crc32cOf(found.object->digests, found.object->blob);
  if (!crc32c.ok()) {
    return {StoreCode::kFailed, nullptr, crc32c.status().message()};
  }
  Part part;
  part.number = static_cast<int>(object.parts.size()) + 1;
  part.size = found.object->size();
  part.etag = found.object->etag;
  part.digests[ChecksumKind::kCrc32c] = *crc32c;
  object.blob.Append(found.object->blob);
  object.parts.push_back(std::move(part));
  return found;
}

void SealComposite(ObjectRecord& object) {
  std::vector<std::string> digests;
  std::vector<int64_t> sizes;
  std::vector<std::string> etags;
  for (const Part& part : object.parts) {
    digests.push_back(part.digests.at(ChecksumKind::kCrc32c));
    sizes.push_back(part.size);
    etags.push_back(part.etag);
  }
  object.digests[ChecksumKind::kCrc32c] = CombineDigests(ChecksumKind::kCrc32c, digests, sizes);
  object.etag = MultipartEtag(etags);
}

}  // namespace assay::objectserver
