#include "engine/comm/gather_text.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>

namespace assay::engine {

std::vector<std::string> gather_text(Communicator& ranks, const std::string& own, std::string_view label) {
  const at::NoGradGuard no_grad;
  const at::Tensor lengths = ranks.allocate(ranks.size(), at::kDouble);
  ranks.all_gather(lengths, at::full({1}, static_cast<double>(own.size()), lengths.options()), label)->wait();
  const at::Tensor length_of = lengths.cpu();
  const auto longest = std::max<int64_t>(1, length_of.max().item<int64_t>());
  const at::Tensor padded = at::zeros({longest}, at::kByte);
  std::memcpy(padded.data_ptr(), own.data(), own.size());
  const at::Tensor all = ranks.allocate(longest * ranks.size(), at::kByte);
  ranks.all_gather(all, padded.to(all.device()), label)->wait();
  const at::Tensor rows = all.cpu();
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    const auto* row = static_cast<const char*>(rows.const_data_ptr()) + rank * longest;
    texts.emplace_back(row, static_cast<size_t>(length_of[rank].item<int64_t>()));
  }
  return texts;
}

}  // namespace assay::engine
