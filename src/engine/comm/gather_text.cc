#include "engine/comm/gather_text.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>

namespace assay::engine {

std::vector<std::string> gather_text(Communicator& ranks, const std::string& own, std::string_view label) {
  const at::NoGradGuard no_grad;
  // Each rank's part lies in the whole: no buffer of its own has to go through memory that the ranks share.
  const at::Tensor lengths = ranks.allocate(ranks.size(), at::kDouble);
  const at::Tensor length = lengths.narrow(0, ranks.rank(), 1).fill_(static_cast<double>(own.size()));
  ranks.all_gather(lengths, length, label)->wait();
  const at::Tensor length_of = lengths.cpu();
  const auto longest = std::max<int64_t>(1, length_of.max().item<int64_t>());
  const at::Tensor padded = at::zeros({longest}, at::kByte);
  std::memcpy(padded.data_ptr(), own.data(), own.size());
  const at::Tensor all = ranks.allocate(longest * ranks.size(), at::kByte);
  ranks.all_gather(all, all.narrow(0, ranks.rank() * longest, longest).copy_(padded), label)->wait();
  const at::Tensor rows = all.cpu();
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    const auto* row = static_cast<const char*>(rows.const_data_ptr()) + rank * longest;
    texts.emplace_back(row, static_cast<size_t>(length_of[rank].item<int64_t>()));
  }
  return texts;
}

}  // namespace assay::engine
