// Checkpoints from any format to any other, and from any number of ranks to any other.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "checkpoint/dcp/prefix.h"
#include "checkpoint/dcp/share_out.h"
#include "checkpoint/find.h"
#include "checkpoint/manifest/manifest.h"
#include "checkpoint/save.h"

namespace assay::checkpoint {

struct ConvertOptions {
  Format format = Format::kDcp;
  int ranks = 1;                     ///< of kDcp: that it is written as by; of kSafetensors: shards
  Sharing sharing = Sharing::kRows;  ///< of kDcp
  int files_per_rank = 1;            ///< of kDcp
  bool to_lowest_rank = false;       ///< of kDcp: who writes what all ranks have
  PrefixOptions prefix{};            ///< of kDcp
  int64_t alignment = 4096;          ///< of kDcp: of large tensors in a file; of files of torch.save: of all tensors
  int64_t shard_bytes = 0;           ///< of kSafetensors: the most in a file; 0: no bound
  SaveOptions save{};                ///< its step, where it has none, is the source's
};

/// Writes `from` to the place. Bytes of tensors go from where they lie to where they will, a few buffers at a time;
/// shared storages stay shared where the format can (torch.save). Unsupported, naming the tensor or value, for what the
/// format cannot hold; the place is untouched then, as after any other error.
Result<Manifest> Convert(const Checkpoint& from, const Place& to, const ConvertOptions& options);

/// The file that makes a checkpoint of that format valid at that place.
std::string PointerName(const Place& place, Format format, bool sharded);

}  // namespace assay::checkpoint
