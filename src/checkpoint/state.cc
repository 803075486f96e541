#include "checkpoint/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace assay::checkpoint {
namespace {

constexpr std::pair<Format, std::string_view> kFormats[] = {
    {Format::kSafetensors, "safetensors"},
    {Format::kTorch, "pt"},
    {Format::kLightning, "ckpt"},
    {Format::kDcp, "dcp"},
};

}  // namespace

std::string_view NameOf(Format format) {
  return std::ranges::find(kFormats, format, &std::pair<Format, std::string_view>::first)->second;
}

Result<Format> FormatOf(std::string_view name) {
  const auto* row = std::ranges::find(kFormats, name, &std::pair<Format, std::string_view>::second);
  return row == std::end(kFormats) ? Result<Format>(Status::InvalidArgument(fmt::format(
                                         "there is no format '{}' (there are dcp, safetensors, pt, ckpt)", name)))
                                   : Result<Format>(row->first);
}

Result<State> State::Of(Value root) {
  State state;
  ASSAY_ASSIGN_OR_RETURN(state.leaves, Flatten(root));
  state.root = std::move(root);
  return state;
}

Status CheckExpanded(const State& state) {
  constexpr int64_t kLargeBytes = int64_t{1} << 40;
  constexpr int64_t kMostRepeats = 1024;
  for (const Leaf& leaf : state.leaves) {
    const auto tensor = leaf.value.tensor();
    int64_t stored = 0;
    for (const Block& block : tensor == nullptr ? std::vector<Block>() : tensor->blocks) {
      stored += block.storage->bytes;
    }
    if (tensor != nullptr && tensor->bytes() > kLargeBytes && tensor->bytes() / kMostRepeats > stored) {
      return Status::InvalidArgument(fmt::format("tensor '{}' repeats {} over {}: written out it is beyond measure",
                                                 leaf.name, FormatBytes(static_cast<double>(stored)),
                                                 FormatBytes(static_cast<double>(tensor->bytes()))));
    }
  }
  return Status::Ok();
}

int64_t TensorBytes(const State& state) {
  int64_t bytes = 0;
  for (const Leaf& leaf : state.leaves) {
    const auto tensor = leaf.value.tensor();
    bytes += tensor == nullptr ? 0 : tensor->bytes();
  }
  return bytes;
}

}  // namespace assay::checkpoint
