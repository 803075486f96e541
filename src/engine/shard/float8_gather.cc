#include "engine/shard/float8_gather.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace assay::engine {
namespace {

constexpr double kLargestE4m3 = 448;
constexpr double kSmallestMaximum = 1e-12;

}  // namespace

Float8Gather::Float8Gather(ShardContext& context, const DataRanks& ranks, const FlatLayout& layout, std::string label)
    : ranks_(ranks),
      layout_(layout),
      label_(std::move(label)),
      bytes_(context.allocate, layout.elements(), at::kByte, MemoryKind::kCommunication, context.ledger),
      scales_(context.allocate, layout.ranks(), at::kFloat, MemoryKind::kCommunication, context.ledger) {
  bytes_.release();
}

void Float8Gather::begin(const at::Tensor& shard) {
  const at::NoGradGuard no_grad;
  bytes_.allocate();
  const int64_t rank = ranks_.shard_rank();
  const at::Tensor scale = scales_.flat().narrow(0, rank, 1);
  const at::Tensor wide = shard.to(scales_.flat().device(), at::kFloat);
  const at::Tensor largest = at::maximum(wide.amax(), wide.amin().neg());
  scale.copy_(largest.clamp_min(kSmallestMaximum).div(kLargestE4m3).view({1}));
  const at::Tensor own = bytes_.flat().narrow(0, rank * layout_.shard_elements(), layout_.shard_elements());
  own.view(at::kFloat8_e4m3fn).copy_(wide / scale);
  if (layout_.ranks() > 1) {
    bytes_work_ = ranks_.shard->all_gather(bytes_.flat(), own, label_);
    scales_work_ = ranks_.shard->all_gather(scales_.flat(), scale, label_);
  }
}

void Float8Gather::finish(const at::Tensor& full) {
  const at::NoGradGuard no_grad;
  for (WorkPtr* work : {&bytes_work_, &scales_work_}) {
    if (*work != nullptr) {
      (*work)->wait();
      work->reset();
    }
  }
  const at::Tensor rows = bytes_.flat().view(at::kFloat8_e4m3fn).view({layout_.ranks(), layout_.shard_elements()});
  for (int64_t r = 0; r < layout_.ranks(); ++r) {
    full.narrow(0, r * layout_.shard_elements(), layout_.shard_elements())
        .copy_(rows[r].to(at::kFloat).mul_(scales_.flat()[r]));
  }
  bytes_.release();
}

}  // namespace assay::engine
