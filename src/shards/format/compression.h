// Compression of whole shard files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::shards {

/// "zstd", "zstd:7", "gz", ...: an algorithm of an index with its level.
struct Compression {
  std::string name{};       ///< as written; empty: none
  std::string extension{};  ///< of files: "zstd"
  int level = 0;

  bool none() const { return name.empty(); }
  /// Those of mosaicml-streaming: br, bz2, gz, snappy, zstd; a level behind a colon where the algorithm has some.
  static Result<Compression> Parse(std::string_view name);
};

std::vector<std::string> CompressionNames();

/// The whole as one frame, as Python's packages write it; gz with the time 0, so that the same bytes give the same
/// file.
Result<std::string> Compress(const Compression& compression, std::span<const std::byte> raw);

/// Into exactly `raw`, whose size the index tells: a file that holds more or less is an error, however much it would
/// come to, and nothing beyond `raw` is ever written.
Status Decompress(const Compression& compression, std::span<const std::byte> packed, std::span<std::byte> raw);

}  // namespace assay::shards
