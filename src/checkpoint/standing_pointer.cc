#include "checkpoint/standing_pointer.h"

#include <algorithm>

#include "checkpoint/save_mark.h"
#include "checkpoint/tensor/data_source.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

Result<bool> ReadsAs(const Save& save, const storage::ObjectInfo& standing, const FileDigest& digest) {
  constexpr int64_t kReadBytes = int64_t{8} << 20;
  ASSAY_ASSIGN_OR_RETURN(const auto source, OpenObject(save.place.store, standing, save.place.cancel));
  uint32_t crc = 0;
  for (int64_t offset = 0; offset < source->bytes(); offset += kReadBytes) {
    const int64_t bytes = std::min(kReadBytes, source->bytes() - offset);
    ASSAY_ASSIGN_OR_RETURN(const std::string read, ReadText(*source, offset, bytes));
    crc = storage::Crc32c(crc, std::as_bytes(std::span(read)));
  }
  return crc == digest.crc32c;
}

/// By what the store says of it.
bool LooksAs(const storage::ObjectInfo& standing, const FileDigest& digest) {
  const auto crc = standing.checksum ? storage::Crc32cOf(*standing.checksum) : std::nullopt;
  return standing.size == digest.bytes && (!crc || *crc == digest.crc32c);
}

}  // namespace

Result<StandingPointer> LookAtPointer(const Save& save, const FileDigest& digest, const std::string& etag,
                                      bool is_small) {
  ASSAY_ASSIGN_OR_RETURN(const auto standing, save.place.store->Stat(save.place.KeyOf(save.pointer)));
  if (!standing) {
    return StandingPointer::kAsBefore;
  }
  const auto mark = standing->metadata.find(kSaveIdMetadata);
  const bool is_marked = mark != standing->metadata.end();
  const bool is_named = (!etag.empty() && standing->etag == etag) || (is_marked && mark->second == save.id);
  bool is_same = (is_named || !is_marked) && LooksAs(*standing, digest);
  if (is_same && (!is_named || is_small)) {
    ASSAY_ASSIGN_OR_RETURN(is_same, ReadsAs(save, *standing, digest));
  }
  if (is_same || is_named) {
    return is_same ? StandingPointer::kOurs : StandingPointer::kDamaged;
  }
  return standing->etag == save.replaced_etag ? StandingPointer::kAsBefore : StandingPointer::kOther;
}

}  // namespace assay::checkpoint
