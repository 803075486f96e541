#include "shards/stream/shard_table.h"

#include <utility>

namespace assay::shards {

ShardTable::ShardTable(std::span<const StreamSource> sources) : first_{0} {
  for (uint32_t source = 0; source < sources.size(); ++source) {
    uint32_t number = 0;
    for (const ShardEntry& entry : sources[source].dataset.index.shards) {
      shards_.push_back({source, number++});
      first_.push_back(first_.back() + entry.samples);
    }
  }
  uint32_t shard = 0;
  for (int64_t sample = 0; sample < samples(); sample += int64_t{1} << kStepBits) {
    while (first_[shard + 1] <= sample) {
      ++shard;
    }
    step_.push_back(shard);
  }
}

ShardTable::Place ShardTable::PlaceOf(int64_t sample) const {
  uint32_t shard = step_[static_cast<size_t>(sample >> kStepBits)];
  while (first_[shard + 1] <= sample) {
    ++shard;
  }
  return {shard, static_cast<uint32_t>(sample - first_[shard])};
}

std::vector<StreamShape> ShapesOf(std::span<const StreamSource> sources) {
  std::vector<StreamShape> shapes;
  for (const StreamSource& source : sources) {
    StreamShape shape{.name = source.dataset.place.Uri(), .shard_samples = {}, .weight = source.weight};
    for (const ShardEntry& entry : source.dataset.index.shards) {
      shape.shard_samples.push_back(entry.samples);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace assay::shards
