#include "storage/integrity/checksum.h"

#include <openssl/evp.h>

#include <array>

namespace assay::storage {
namespace {

struct KindRow {
  ChecksumKind kind;
  std::string_view name;
  size_t bytes;
  const EVP_MD* (*digest)();  // null for CRCs
};

constexpr std::array<KindRow, 6> kKinds = {{
    {ChecksumKind::kCrc32c, "crc32c", 4, nullptr},
    {ChecksumKind::kCrc64Nvme, "crc64nvme", 8, nullptr},
    {ChecksumKind::kMd5, "md5", 16, &EVP_md5},
    {ChecksumKind::kCrc32, "crc32", 4, nullptr},
    {ChecksumKind::kSha1, "sha1", 20, &EVP_sha1},
    {ChecksumKind::kSha256, "sha256", 32, &EVP_sha256},
}};

const KindRow& RowOf(ChecksumKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) {
      return row;
    }
  }
  __builtin_unreachable();
}

std::string BigEndian(uint64_t value, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[size - 1 - i] = static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

bool EqualWithoutCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 'a' - 'A') : text[i];
    if (c != lower[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string Checksum::Base64() const {
  return Base64Encode(value);
}
std::string Checksum::Hex() const {
  return HexEncode(value);
}

Checksum MakeCrc32c(uint32_t crc) {
  return {ChecksumKind::kCrc32c, BigEndian(crc, sizeof crc)};
}
Checksum MakeCrc32(uint32_t crc) {
  return {ChecksumKind::kCrc32, BigEndian(crc, sizeof crc)};
}
Checksum MakeCrc64Nvme(uint64_t crc) {
  return {ChecksumKind::kCrc64Nvme, BigEndian(crc, sizeof crc)};
}

struct ChecksumStream::State {
  ChecksumKind kind;
  uint32_t crc32 = 0;  // of either polynomial of degree 32
  uint64_t crc64 = 0;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{nullptr, &EVP_MD_CTX_free};
};

ChecksumStream::ChecksumStream(ChecksumKind kind) : state_(new State{.kind = kind}) {
  if (const auto digest = RowOf(kind).digest) {
    state_->digest.reset(EVP_MD_CTX_new());
    EVP_DigestInit_ex(state_->digest.get(), digest(), nullptr);
  }
}
ChecksumStream::ChecksumStream(ChecksumStream&&) noexcept = default;
ChecksumStream& ChecksumStream::operator=(ChecksumStream&&) noexcept = default;
ChecksumStream::~ChecksumStream() = default;

void ChecksumStream::Update(std::span<const std::byte> bytes) {
  switch (state_->kind) {
    case ChecksumKind::kCrc32c:
      state_->crc32 = Crc32c(state_->crc32, bytes);
      return;
    case ChecksumKind::kCrc32:
      state_->crc32 = Crc32(state_->crc32, bytes);
      return;
    case ChecksumKind::kCrc64Nvme:
      state_->crc64 = Crc64Nvme(state_->crc64, bytes);
      return;
    case ChecksumKind::kMd5:
    case ChecksumKind::kSha1:
    case ChecksumKind::kSha256:
      EVP_DigestUpdate(state_->digest.get(), bytes.data(), bytes.size());
      return;
  }
}

Checksum ChecksumStream::Finish() {
  switch (state_->kind) {
    case ChecksumKind::kCrc32c:
      return MakeCrc32c(state_->crc32);
    case ChecksumKind::kCrc32:
      return MakeCrc32(state_->crc32);
    case ChecksumKind::kCrc64Nvme:
      return MakeCrc64Nvme(state_->crc64);
    case ChecksumKind::kMd5:
    case ChecksumKind::kSha1:
    case ChecksumKind::kSha256:
      break;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->digest.get(), bytes.data(), &size);
  return {state_->kind, std::string(reinterpret_cast<const char*>(bytes.data()), size)};
}

Checksum ChecksumOf(ChecksumKind kind, std::span<const std::byte> bytes) {
  ChecksumStream stream(kind);
  stream.Update(bytes);
  return stream.Finish();
}

std::string_view NameOf(ChecksumKind kind) {
  return RowOf(kind).name;
}
size_t DigestBytes(ChecksumKind kind) {
  return RowOf(kind).bytes;
}

std::optional<ChecksumKind> ChecksumKindOf(std::string_view name) {
  for (const KindRow& row : kKinds) {
    if (EqualWithoutCase(name, row.name)) {
      return row.kind;
    }
  }
  return std::nullopt;
}

}  // namespace assay::storage
