#include "shards/order/shuffle.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "base/text.h"
#include "shards/order/shuffle_algorithms.h"

namespace assay::shards {
namespace {

struct ShuffleRow {
  std::string_view name;
  ShuffleAlgorithm algorithm;
  std::vector<uint32_t> (*shuffle)(const ShuffleTask& task);
  int64_t least_block = 0;   ///< numpy refuses to draw from an empty range
  bool fills_nodes = false;  ///< each canonical node must have a sample
};

constexpr ShuffleRow kShuffles[] = {
    {"naive", ShuffleAlgorithm::kNaive, &ShuffleNaive},    {"py1s", ShuffleAlgorithm::kPy1s, &ShufflePy1s},
    {"py1br", ShuffleAlgorithm::kPy1br, &ShufflePy1br, 2}, {"py1e", ShuffleAlgorithm::kPy1e, &ShufflePy1e, 1, true},
    {"py2s", ShuffleAlgorithm::kPy2s, &ShufflePy2s},
};

const ShuffleRow& RowOf(ShuffleAlgorithm algorithm) {
  for (const ShuffleRow& row : kShuffles) {
    if (row.algorithm == algorithm) {
      return row;
    }
  }
  return kShuffles[0];
}

Status CheckTask(const ShuffleRow& row, const ShuffleTask& task) {
  int64_t samples = 0;
  for (const int64_t unit : task.units) {
    samples += unit;
    if (samples > kMostSamples) {
      return Status::InvalidArgument(fmt::format("an epoch of more than {} samples cannot be shuffled", kMostSamples));
    }
  }
  if (task.block < row.least_block || task.block > std::numeric_limits<int64_t>::max() / 4) {
    return Status::InvalidArgument(
        fmt::format("the shuffle block is {}: {} takes {} samples and more", task.block, row.name, row.least_block));
  }
  if (row.fills_nodes && samples < task.canonical_nodes) {
    return Status::InvalidArgument(
        fmt::format("{} samples are fewer than the {} canonical nodes: {} needs one for each", samples,
                    task.canonical_nodes, row.name));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<uint32_t>> Shuffle(ShuffleAlgorithm algorithm, const ShuffleTask& task) {
  const ShuffleRow& row = RowOf(algorithm);
  ASSAY_RETURN_IF_ERROR(CheckTask(row, task));
  return row.shuffle(task);
}

std::string_view NameOf(ShuffleAlgorithm algorithm) {
  return RowOf(algorithm).name;
}

std::vector<std::string> ShuffleNames() {
  std::vector<std::string> names;
  for (const ShuffleRow& row : kShuffles) {
    names.emplace_back(row.name);
  }
  return names;
}

Result<ShuffleAlgorithm> ParseShuffleAlgorithm(std::string_view name) {
  for (const ShuffleRow& row : kShuffles) {
    if (row.name == name) {
      return row.algorithm;
    }
  }
  return Status::InvalidArgument(
      fmt::format("there is no shuffle '{}' (there are {})", name, Join(ShuffleNames(), ", ")));
}

}  // namespace assay::shards
