#include "storage/transfer/checksum_parts.h"

#include <algorithm>

namespace assay::storage {
namespace {

uint64_t NumberOf(const Checksum& checksum) {
  uint64_t number = 0;
  for (const char byte : checksum.value) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

Checksum Append(const Checksum& first, const Checksum& second, int64_t second_bytes) {
  const uint64_t a = NumberOf(first);
  const uint64_t b = NumberOf(second);
  switch (first.kind) {
    case ChecksumKind::kCrc32c:
      return MakeCrc32c(CombineCrc32c(static_cast<uint32_t>(a), static_cast<uint32_t>(b), second_bytes));
    case ChecksumKind::kCrc32:
      return MakeCrc32(CombineCrc32(static_cast<uint32_t>(a), static_cast<uint32_t>(b), second_bytes));
    default:
      return MakeCrc64Nvme(CombineCrc64Nvme(a, b, second_bytes));
  }
}

}  // namespace

bool IsCombinable(ChecksumKind kind) {
  return kind == ChecksumKind::kCrc32c || kind == ChecksumKind::kCrc64Nvme || kind == ChecksumKind::kCrc32;
}

std::optional<Checksum> CombineParts(std::vector<PartChecksum> parts, int64_t total_bytes) {
  std::sort(parts.begin(), parts.end(),
            [](const PartChecksum& a, const PartChecksum& b) { return a.offset < b.offset; });
  std::optional<Checksum> whole;
  int64_t end = 0;
  for (const PartChecksum& part : parts) {
    if (part.offset != end || (whole && (whole->kind != part.checksum.kind || !IsCombinable(whole->kind)))) {
      return std::nullopt;
    }
    whole = whole ? Append(*whole, part.checksum, part.bytes) : part.checksum;
    end += part.bytes;
  }
  return end == total_bytes ? whole : std::nullopt;
}

}  // namespace assay::storage
