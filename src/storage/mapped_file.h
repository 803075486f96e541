// A file, and the memory that it is mapped to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace assay::storage {

struct MappedFile {
  int file = -1;                        ///< open for what is to be done with it; not owned
  std::span<const std::byte> memory{};  ///< from its first byte
  std::string name{};                   ///< for errors

  /// Where `bytes` lie in the file; nothing where they are no part of the memory.
  std::optional<int64_t> OffsetOf(std::span<const std::byte> bytes) const {
    constexpr std::less_equal<> before{};  // of pointers into any memory
    const bool within =
        before(memory.data(), bytes.data()) && before(bytes.data() + bytes.size(), memory.data() + memory.size());
    return within ? std::optional<int64_t>(bytes.data() - memory.data()) : std::nullopt;
  }
};

}  // namespace assay::storage
