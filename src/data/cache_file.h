// What the files that hold a prepared data set have in common: how they begin and end, and what is said of a bad one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::data {

using FileMagic = std::array<char, 8>;

/// The last bytes of each such file: a file without them was not written to its end.
inline constexpr FileMagic kCacheFileEnd = {'A', 'S', 'S', 'A', 'Y', 'E', 'N', 'D'};

/// The bytes of a fixed-size part of a file.
template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// A kind of cache file.
struct CacheFileKind {
  std::string_view name;  ///< in errors: "token file"
  FileMagic magic;        ///< its first bytes
  uint32_t version;       ///< of its format; follows the magic

  /// The file is another kind, or of another version. `bytes` of fewer than `smallest` are truncated.
  Status CheckStart(const std::string& path, std::span<const std::byte> bytes, size_t smallest) const;
  /// An error about the file at `path`.
  Status Refuse(const std::string& path, std::string_view what) const;
  Status Truncated(const std::string& path, size_t size) const;
};

}  // namespace assay::data
