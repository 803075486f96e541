// What stands beside an index, for us alone: which version of the data set holds, and how its bytes are proven.
//
// Readers of MDS do not know it. It is published last: a data set that has one is whole. Its files lie below "assay/":
//   manifest.json        which version holds; replaced when one is appended
//   v000001/index.json   the index of that version: a reader that began with it goes on with it
//   v000001/samples.bin  size, CRC32C and tokens of each sample of the shards that version added (sample_table.h)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/index.h"

namespace assay::shards {

inline constexpr char kSidecarFolder[] = "assay/";
inline constexpr char kManifestName[] = "assay/manifest.json";

/// "assay/v000002/", the folder of what one version added.
std::string VersionFolder(int64_t version);

/// How a shard is proven.
struct ShardProof {
  uint32_t crc32c = 0;        ///< of the file as it is stored
  uint32_t meta_crc32c = 0;   ///< of a split shard's file of offsets as it is stored
  std::string raw_digest{};   ///< XXH3-128 of its data decompressed, in hexadecimal
  uint64_t first_offset = 0;  ///< where its first sample begins
};

/// The samples of some shards that follow one another.
struct SampleTableFile {
  std::string name{};  ///< below the data set
  int64_t bytes = 0;
  int64_t shards = 0;
  uint32_t crc32c = 0;
};

struct Manifest {
  int64_t version = 1;       ///< of the data set
  std::string index_name{};  ///< of this version, below the data set
  std::string index_sha256{};
  std::string content_hash{};  ///< ContentHash(): the same for the same rows in the same shards, however compressed
  int64_t samples = 0;
  std::optional<int64_t> tokens{};
  std::string tokenizer_hash{};  ///< of what made the tokens; empty without
  std::vector<SampleTableFile> tables{};
  std::vector<ShardProof> shards{};  ///< as the index has them
};

/// SHA-256 over the columns and, of each shard, samples and raw digest.
std::string ContentHash(const DatasetIndex& index, std::span<const ShardProof> proofs);

std::string FormatManifest(const Manifest& manifest);
/// An error names `source` and what is missing or wrong.
Result<Manifest> ParseManifest(std::string_view json, std::string_view source);

}  // namespace assay::shards
