#include "objectserver/digests.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"

namespace assay::objectserver {
namespace {

using storage::ChecksumKind;

constexpr int64_t kMaxMd5Bytes = 256 << 10;

uint64_t FromBigEndian(const std::string& digest) {
  uint64_t value = 0;
  for (const char byte : digest) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

std::string CombineTwo(ChecksumKind kind, const std::string& first, const std::string& second, int64_t second_bytes) {
  const uint64_t a = FromBigEndian(first);
  const uint64_t b = FromBigEndian(second);
  switch (kind) {
    case ChecksumKind::kCrc32c:
      return storage::MakeCrc32c(storage::CombineCrc32c(static_cast<uint32_t>(a), static_cast<uint32_t>(b),  //
                                                        second_bytes))
          .value;
    case ChecksumKind::kCrc32:
      return storage::MakeCrc32(storage::CombineCrc32(static_cast<uint32_t>(a), static_cast<uint32_t>(b),  //
                                                      second_bytes))
          .value;
    default:
      return storage::MakeCrc64Nvme(storage::CombineCrc64Nvme(a, b, second_bytes)).value;
  }
}

}  // namespace

DigestSet::DigestSet(const std::set<ChecksumKind>& kinds) {
  for (const ChecksumKind kind : kinds) {
    streams_.emplace_back(kind, storage::ChecksumStream(kind));
  }
}

void DigestSet::Update(std::span<const std::byte> bytes) {
  for (auto& [kind, stream] : streams_) {
    stream.Update(bytes);
  }
}

Digests DigestSet::Finish() {
  Digests digests;
  for (auto& [kind, stream] : streams_) {
    digests[kind] = stream.Finish().value;
  }
  return digests;
}

bool CanCombine(ChecksumKind kind) {
  return kind == ChecksumKind::kCrc32c || kind == ChecksumKind::kCrc64Nvme || kind == ChecksumKind::kCrc32;
}

std::string CombineDigests(ChecksumKind kind, const std::vector<std::string>& digests,
                           const std::vector<int64_t>& sizes) {
  std::string whole = digests.front();
  for (size_t i = 1; i < digests.size(); ++i) {
    whole = CombineTwo(kind, whole, digests[i], sizes[i]);
  }
  return whole;
}

ChecksumKind EtagKind(bool has_size, int64_t size, bool md5_sent, bool always_md5) {
  return always_md5 || md5_sent || (has_size && size <= kMaxMd5Bytes) ? ChecksumKind::kMd5 : ChecksumKind::kCrc64Nvme;
}

std::string EtagOf(const Digests& digests, ChecksumKind kind, int64_t size) {
  const std::string digits = storage::HexEncode(digests.at(kind));
  return kind == ChecksumKind::kMd5 ? digits : fmt::format("{}{:016x}-0", digits, size);
}

std::string OpaqueEtag() {
  std::string tag = RandomUid();
  for (const size_t at : {20, 16, 12, 8}) {
    tag.insert(at, 1, '-');
  }
  return tag;
}

std::string MultipartEtag(const std::vector<std::string>& part_etags) {
  std::string joined;
  for (const std::string& etag : part_etags) {
    const std::optional<std::string> raw = storage::HexDecode(etag);
    joined += raw.value_or(etag);
  }
  const storage::Checksum md5 = storage::ChecksumOf(ChecksumKind::kMd5, std::as_bytes(std::span(joined)));
  return fmt::format("{}-{}", md5.Hex(), part_etags.size());
}

}  // namespace assay::objectserver
