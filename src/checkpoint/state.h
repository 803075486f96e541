// What a checkpoint holds, whatever its format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/value/flat_state.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

enum class Format {
  kSafetensors,  ///< one file, or shards with an index
  kTorch,        ///< one file of torch.save, or shards with an index
  kLightning,    ///< one file of torch.save, as Lightning's Trainer lays it out
  kDcp,          ///< a folder of torch.distributed.checkpoint
};

/// "safetensors", "pt", "ckpt", "dcp".
std::string_view NameOf(Format format);
/// InvalidArgument for another name, which tells those that there are.
Result<Format> FormatOf(std::string_view name);

/// The object that was saved, and its leaves by name.
struct State {
  Value root{};
  std::vector<Leaf> leaves{};

  static Result<State> Of(Value root);
};

/// Tensors that repeat a few elements over a large shape cost nothing in torch's files and everything elsewhere:
/// InvalidArgument for one that is too large to be written out or compared.
Status CheckExpanded(const State& state);

/// Bytes of the tensors among the leaves.
int64_t TensorBytes(const State& state);

}  // namespace assay::checkpoint
