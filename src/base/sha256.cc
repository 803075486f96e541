#include <openssl/evp.h>

#include <array>
#include <memory>
#include <span>

#include "base/file_descriptor.h"
#include "base/files.h"

namespace assay {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void Update(const void* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : std::span(digest.data(), size)) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes.data(), bytes.size());
  return hash.Hex();
}

Result<std::string> Sha256HexOfFile(const std::string& path) {
  const FileDescriptor fd = OpenFile(path.c_str(), O_RDONLY);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  Sha256 hash;
  std::string block(1 << 20, '\0');
  while (true) {
    const ssize_t n = RetryOnSignal([&] { return ::read(fd.get(), block.data(), block.size()); });
    if (n < 0) {
      return ErrnoStatus(errno, "read", path);
    }
    if (n == 0) {
      return hash.Hex();
    }
    hash.Update(block.data(), static_cast<size_t>(n));
  }
}

}  // namespace assay
