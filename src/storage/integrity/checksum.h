// Checksums of objects: CRCs in hardware; MD5, SHA-1 and SHA-256 where a store or its client asks for those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay::storage {

enum class ChecksumKind { kCrc32c, kCrc64Nvme, kMd5, kCrc32, kSha1, kSha256 };

/// A finished checksum: `value` is the digest, big-endian, as stores send it before base64.
struct Checksum {
  ChecksumKind kind = ChecksumKind::kCrc32c;
  std::string value;  ///< raw bytes: 4, 8, 16 (MD5), 20 (SHA-1) or 32 (SHA-256)

  std::string Base64() const;
  std::string Hex() const;
  bool operator==(const Checksum&) const = default;
};

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes` appended to what gave `crc`; 0 to begin with.
uint32_t Crc32c(uint32_t crc, std::span<const std::byte> bytes);
/// CRC-64/NVME (reflected polynomial 0x9a6c9329ac4bc9b5), likewise.
uint64_t Crc64Nvme(uint64_t crc, std::span<const std::byte> bytes);
/// CRC-32 (ISO-HDLC: zlib, gzip), likewise.
uint32_t Crc32(uint32_t crc, std::span<const std::byte> bytes);
/// The CRC of the concatenation of two texts of which the second has `second_bytes` bytes.
uint32_t CombineCrc32c(uint32_t first, uint32_t second, int64_t second_bytes);
uint64_t CombineCrc64Nvme(uint64_t first, uint64_t second, int64_t second_bytes);
uint32_t CombineCrc32(uint32_t first, uint32_t second, int64_t second_bytes);

Checksum MakeCrc32c(uint32_t crc);
Checksum MakeCrc64Nvme(uint64_t crc);
Checksum MakeCrc32(uint32_t crc);

/// A checksum fed piece by piece. Belongs to one thread.
class ChecksumStream {
 public:
  explicit ChecksumStream(ChecksumKind kind);
  ChecksumStream(ChecksumStream&&) noexcept;
  ChecksumStream& operator=(ChecksumStream&&) noexcept;
  ~ChecksumStream();
  void Update(std::span<const std::byte> bytes);
  Checksum Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Checksum ChecksumOf(ChecksumKind kind, std::span<const std::byte> bytes);

/// "crc32c", "crc64nvme", "md5", "crc32", "sha1", "sha256": what follows "x-amz-checksum-" in lower case.
std::string_view NameOf(ChecksumKind kind);
/// Of a name in any case; nothing for one that is not known.
std::optional<ChecksumKind> ChecksumKindOf(std::string_view name);
/// The size of a digest of that kind.
size_t DigestBytes(ChecksumKind kind);

std::string Base64Encode(std::string_view bytes);
/// Nothing for text that is not padded base64 (RFC 4648 section 4).
std::optional<std::string> Base64Decode(std::string_view text);
/// In lower case.
std::string HexEncode(std::string_view bytes);
/// Nothing for an odd number of digits or anything that is no hexadecimal digit.
std::optional<std::string> HexDecode(std::string_view text);

}  // namespace assay::storage
