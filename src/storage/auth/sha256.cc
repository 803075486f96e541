#include "storage/auth/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

constexpr size_t kBlockBytes = 64;

// Fetched once: EVP_sha256() looks its implementation up at every use.
const EVP_MD* Sha256Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {}
  void Begin() { EVP_DigestInit_ex2(context_.get(), Sha256Algorithm(), nullptr); }
  void Update(const void* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  Sha256Digest Finish() {
    Sha256Digest digest;
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Hash& ThreadsHash() {
  thread_local Hash hash;
  return hash;
}

// HMAC's inner or outer hash (RFC 2104).
Sha256Digest HashKeyed(const std::array<unsigned char, kBlockBytes>& key, unsigned char pad, std::string_view text) {
  std::array<unsigned char, kBlockBytes> padded;
  std::transform(key.begin(), key.end(), padded.begin(), [pad](unsigned char c) { return c ^ pad; });
  Hash& hash = ThreadsHash();
  hash.Begin();
  hash.Update(padded.data(), padded.size());
  hash.Update(text.data(), text.size());
  return hash.Finish();
}

}  // namespace

struct Sha256Stream::Context {
  Hash hash;
};

Sha256Stream::Sha256Stream() : context_(new Context) {
  context_->hash.Begin();
}
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Update(std::span<const std::byte> bytes) {
  context_->hash.Update(bytes.data(), bytes.size());
}
void Sha256Stream::Update(std::string_view text) {
  context_->hash.Update(text.data(), text.size());
}

Sha256Digest Sha256Stream::Finish() {
  const Sha256Digest digest = context_->hash.Finish();
  context_->hash.Begin();
  return digest;
}

Sha256Digest Sha256(std::string_view text) {
  Hash& hash = ThreadsHash();
  hash.Begin();
  hash.Update(text.data(), text.size());
  return hash.Finish();
}

Sha256Digest HmacSha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, kBlockBytes> block{};
  if (key.size() > kBlockBytes) {
    const Sha256Digest short_key = Sha256(key);
    std::copy(short_key.begin(), short_key.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  const Sha256Digest inner = HashKeyed(block, 0x36, text);
  return HashKeyed(block, 0x5c, AsText(inner));
}

std::string_view AsText(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void AppendHex(std::string& text, const Sha256Digest& digest) {
  text += HexEncode(AsText(digest));
}
std::string Hex(const Sha256Digest& digest) {
  return HexEncode(AsText(digest));
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace assay::storage
