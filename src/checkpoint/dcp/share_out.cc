#include "checkpoint/dcp/share_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace assay::checkpoint {
namespace {

constexpr std::pair<std::string_view, Sharing> kSharings[] = {
    {"rows", Sharing::kRows}, {"full", Sharing::kFull}, {"flat", Sharing::kFlat}};

/// The part of `count` things that is `rank`'s: torch.chunk gives all ranks as many, and the last ones less or none.
std::pair<int64_t, int64_t> ChunkOf(int64_t count, int ranks, int rank) {
  const int64_t each = (count + ranks - 1) / ranks;
  const int64_t begin = std::min(count, each * rank);
  return {begin, std::min(count, begin + each)};
}

std::vector<Box> BoxesOf(const Sizes& shape, int ranks, int rank, Sharing sharing) {
  if (sharing == Sharing::kFull || ranks == 1) {
    return {WholeOf(shape)};
  }
  if (shape.empty() || Count(shape) == 0) {
    return rank == 0 ? std::vector<Box>{WholeOf(shape)} : std::vector<Box>();
  }
  if (sharing == Sharing::kFlat) {
    const auto [begin, end] = ChunkOf(Count(shape), ranks, rank);
    return BoxesOfFlatRange(shape, begin, end - begin);
  }
  const auto [begin, end] = ChunkOf(shape[0], ranks, rank);
  if (begin == end) {
    return {};
  }
  Box box = WholeOf(shape);
  box.offsets[0] = begin;
  box.sizes[0] = end - begin;
  return {box};
}

void ShareTensor(const Leaf& leaf, int ranks, Sharing sharing, SharedState& shared) {
  const std::shared_ptr<const Tensor> tensor = leaf.value.tensor();
  const DataRange whole = RowMajorRange(tensor);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<size_t>(rank);
    for (Box& box : BoxesOf(tensor->shape, ranks, rank, sharing)) {
      const bool is_whole = box.sizes == tensor->shape;
      shared.contents[r].tensors.push_back(
          is_whole ? whole : RowMajorRange(std::make_shared<const Tensor>(Narrow(*tensor, box))));
      shared.holdings[r].tensors.push_back(
          {leaf.name, leaf.path, tensor->dtype, tensor->shape, std::move(box), tensor->requires_grad});
    }
  }
}

}  // namespace

Result<Sharing> SharingOf(std::string_view name) {
  const auto* row = std::ranges::find(kSharings, name, &std::pair<std::string_view, Sharing>::first);
  return row == std::end(kSharings) ? Result<Sharing>(Status::InvalidArgument(fmt::format(
                                          "tensors cannot be shared out by '{}' (there are rows, full, flat)", name)))
                                    : Result<Sharing>(row->second);
}

Result<SharedState> ShareOut(const State& state, int ranks, Sharing sharing) {
  if (ranks < 1) {
    return Status::InvalidArgument(fmt::format("a checkpoint cannot be of {} ranks", ranks));
  }
  SharedState shared;
  shared.holdings.resize(static_cast<size_t>(ranks));
  shared.contents.resize(static_cast<size_t>(ranks));
  for (const Leaf& leaf : state.leaves) {
    if (const std::shared_ptr<const Tensor> tensor = leaf.value.tensor()) {
      if (tensor->bits != nullptr) {
        return Status::Unsupported(
            fmt::format("cannot write tensor '{}': torch.distributed.checkpoint has no place for "
                        "its conjugate or negative bit (--format pt has)",
                        leaf.name));
      }
      ShareTensor(leaf, ranks, sharing, shared);
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const FileLayout layout, LayOutValue(leaf.value));
    for (size_t rank = 0; rank < shared.holdings.size(); ++rank) {
      shared.holdings[rank].values.push_back({leaf.name, leaf.path, layout.bytes()});
      shared.contents[rank].values.push_back(layout);
    }
  }
  return shared;
}

}  // namespace assay::checkpoint
