// SHA-256 and HMAC-SHA-256 on OpenSSL, without an allocation a call.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace assay::storage {

using Sha256Digest = std::array<unsigned char, 32>;

/// A hash fed piece by piece. Belongs to one thread.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;
  ~Sha256Stream();
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  /// The digest of what came since the last Finish(); the stream begins anew.
  Sha256Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256Digest Sha256(std::string_view text);
Sha256Digest HmacSha256(std::string_view key, std::string_view text);

std::string_view AsText(const Sha256Digest& digest);
/// Appends 64 lower-case hexadecimal digits.
void AppendHex(std::string& text, const Sha256Digest& digest);
std::string Hex(const Sha256Digest& digest);

/// In a time that depends on the lengths only.
bool EqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace assay::storage
