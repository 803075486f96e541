#include "shards/format/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/json.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

using Parts = std::span<const std::span<const std::byte>>;

std::string HexOf(const void* digest, size_t size) {
  return storage::HexEncode({static_cast<const char*>(digest), size});
}

template <auto create, auto reset, auto update, auto finish, auto free>
std::string XxHash(Parts parts) {
  const std::unique_ptr<std::remove_pointer_t<decltype(create())>, decltype(free)> state(create(), free);
  reset(state.get());
  for (const auto& part : parts) {
    update(state.get(), part.data(), part.size());
  }
  return finish(state.get());
}

std::string Xxh32(Parts parts) {
  return XxHash<&XXH32_createState, [](auto* s) { XXH32_reset(s, 0); }, &XXH32_update,
                [](auto* s) { return fmt::format("{:08x}", XXH32_digest(s)); }, &XXH32_freeState>(parts);
}
std::string Xxh64(Parts parts) {
  return XxHash<&XXH64_createState, [](auto* s) { XXH64_reset(s, 0); }, &XXH64_update,
                [](auto* s) { return fmt::format("{:016x}", XXH64_digest(s)); }, &XXH64_freeState>(parts);
}
std::string Xxh3Of64(Parts parts) {
  return XxHash<&XXH3_createState, [](auto* s) { XXH3_64bits_reset(s); }, &XXH3_64bits_update,
                [](auto* s) { return fmt::format("{:016x}", XXH3_64bits_digest(s)); }, &XXH3_freeState>(parts);
}
std::string Xxh3Of128(Parts parts) {
  return XxHash<&XXH3_createState, [](auto* s) { XXH3_128bits_reset(s); }, &XXH3_128bits_update,
                [](auto* s) {
                  const XXH128_hash_t digest = XXH3_128bits_digest(s);
                  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
                },
                &XXH3_freeState>(parts);
}

struct HashRow {
  std::string_view name;
  const char* openssl;  // its name there; null: `function`
  std::string (*function)(Parts) = nullptr;
};

constexpr HashRow kHashes[] = {
    {"blake2b", "BLAKE2b512"},
    {"blake2s", "BLAKE2s256"},
    {"md5", "MD5"},
    {"sha1", "SHA1"},
    {"sha224", "SHA224"},
    {"sha256", "SHA256"},
    {"sha384", "SHA384"},
    {"sha3_224", "SHA3-224"},
    {"sha3_256", "SHA3-256"},
    {"sha3_384", "SHA3-384"},
    {"sha3_512", "SHA3-512"},
    {"sha512", "SHA512"},
    {"xxh128", nullptr, &Xxh3Of128},
    {"xxh32", nullptr, &Xxh32},
    {"xxh3_128", nullptr, &Xxh3Of128},
    {"xxh3_64", nullptr, &Xxh3Of64},
    {"xxh64", nullptr, &Xxh64},
};

Result<std::string> OpensslHash(const HashRow& row, Parts parts) {
  const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> method(EVP_MD_fetch(nullptr, row.openssl, nullptr),
                                                               &EVP_MD_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (method == nullptr || EVP_DigestInit_ex2(context.get(), method.get(), nullptr) != 1) {
    return Status::Unsupported(fmt::format("this machine's OpenSSL has no {}: take another hash", row.name));
  }
  for (const auto& part : parts) {
    EVP_DigestUpdate(context.get(), part.data(), part.size());
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  return HexOf(digest.data(), size);
}

}  // namespace

std::vector<std::string> HashNames() {
  std::vector<std::string> names;
  for (const HashRow& row : kHashes) {
    names.emplace_back(row.name);
  }
  return names;
}

Status CheckHashNames(std::span<const std::string> names) {
  const std::vector<std::string> known = HashNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(known, names[i]) == known.end()) {
      const std::string nearest = NearestName(names[i], known);
      return Status::InvalidArgument(fmt::format("there is no hash '{}'{}", names[i],
                                                 nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    }
    if (i > 0 && names[i] <= names[i - 1]) {
      return Status::InvalidArgument(
          fmt::format("the hash '{}' comes behind '{}': name each once, in sorted order", names[i], names[i - 1]));
    }
  }
  return Status::Ok();
}

Result<std::string> HashHex(std::string_view name, Parts parts) {
  const auto row = std::ranges::find(kHashes, name, &HashRow::name);
  if (row == std::end(kHashes)) {
    return Status::InvalidArgument(fmt::format("there is no hash '{}'", name));
  }
  return row->function != nullptr ? row->function(parts) : OpensslHash(*row, parts);
}

}  // namespace assay::shards
