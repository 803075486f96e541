#include "checkpoint/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

int64_t TensorBytes(const State& state) {
  int64_t bytes = 0;
  for (const Leaf& leaf : state.leaves) {
    const auto tensor = leaf.value.tensor();
    bytes += tensor == nullptr ? 0 : tensor->bytes();
  }
  return bytes;
}

}  // namespace assay::checkpoint
