#include "shards/order/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "shards/order/generator.h"
#include "shards/order/numpy_sum.h"
#include "shards/order/shuffle.h"

namespace assay::shards {
namespace {

int64_t Sum(std::span<const int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

Status CheckWeight(const StreamShape& stream) {
  const StreamWeight& weight = stream.weight;
  const int given = weight.proportion.has_value() + weight.repeat.has_value() + weight.choose.has_value();
  const auto refuse = [&](std::string_view what) {
    return Status::InvalidArgument(fmt::format("the weight of stream '{}': {}", stream.name, what));
  };
  if (given > 1) {
    return refuse("say one of proportion, repeat and choose");
  }
  const bool negative =
      !(weight.proportion.value_or(0) >= 0) || !(weight.repeat.value_or(0) >= 0) || weight.choose.value_or(0) < 0;
  if (negative) {
    return refuse("a weight is 0 or more");
  }
  if (stream.samples() == 0) {
    return Status::InvalidArgument(fmt::format("stream '{}' has no samples", stream.name));
  }
  return Status::Ok();
}

enum class Weighting { kNone, kRelative, kAbsolute };

/// Refuses weights that contradict each other.
Result<Weighting> WeightingOf(std::span<const StreamShape> streams) {
  if (streams.empty()) {
    return Status::InvalidArgument("there are no streams");
  }
  const bool relative = streams[0].weight.proportion.has_value();
  bool absolute = false;
  for (const StreamShape& stream : streams) {
    ASSAY_RETURN_IF_ERROR(CheckWeight(stream));
    absolute = absolute || stream.weight.repeat || stream.weight.choose;
    if (stream.weight.proportion.has_value() != relative) {
      return Status::InvalidArgument(
          fmt::format("stream '{}' has {} proportion and '{}' has {}: give one to all streams or to none", stream.name,
                      relative ? "no" : "a", streams[0].name, relative ? "one" : "none"));
    }
  }
  return relative ? Weighting::kRelative : absolute ? Weighting::kAbsolute : Weighting::kNone;
}

/// Whole samples by relative weights; what rounding leaves goes to streams that the seed draws.
StreamShares ShareBy(std::vector<double> weights, int64_t epoch_size, uint64_t seed) {
  StreamShares shares{.choose = {}, .proportion = std::move(weights), .epoch_size = epoch_size};
  const double total = NumpySum(shares.proportion);
  for (double& proportion : shares.proportion) {
    proportion /= total;
    shares.choose.push_back(static_cast<int64_t>(static_cast<double>(epoch_size) * proportion));
  }
  const int64_t left = std::max<int64_t>(epoch_size - Sum(shares.choose), 0);
  const auto streams = static_cast<int64_t>(shares.choose.size());
  for (const uint32_t stream : Generator(seed).Choice(streams, std::min(left, streams))) {
    ++shares.choose[stream];
  }
  return shares;
}

StreamShares ShareAbsolutely(std::span<const StreamShape> streams) {
  StreamShares shares;
  for (const StreamShape& stream : streams) {
    const StreamWeight& weight = stream.weight;
    const int64_t samples = stream.samples();
    const auto repeated = static_cast<int64_t>(weight.repeat.value_or(1) * static_cast<double>(samples));
    shares.choose.push_back(weight.repeat ? repeated : weight.choose.value_or(samples));
  }
  shares.epoch_size = Sum(shares.choose);
  for (const int64_t choose : shares.choose) {
    shares.proportion.push_back(static_cast<double>(choose) / static_cast<double>(shares.epoch_size));
  }
  return shares;
}

/// How many samples each shard gives when its stream gives `choose`.
std::vector<int64_t> SampleShards(const std::vector<int64_t>& shard_samples, int64_t choose,
                                  const SamplingSettings& settings) {
  const int64_t samples = Sum(shard_samples);
  std::vector<int64_t> taken;
  for (const int64_t of_shard : shard_samples) {
    taken.push_back(of_shard * (choose / samples));
  }
  int64_t left = choose % samples;
  if (left == 0) {
    return taken;
  }
  std::vector<uint32_t> picks;  // the shard of each granule
  for (size_t shard = 0; shard < shard_samples.size(); ++shard) {
    const int64_t granules = (shard_samples[shard] + settings.granularity - 1) / settings.granularity;
    picks.insert(picks.end(), static_cast<size_t>(granules), static_cast<uint32_t>(shard));
  }
  std::vector<uint32_t> order(picks.size());
  std::iota(order.begin(), order.end(), 0u);
  Generator(settings.balanced && settings.shuffle ? settings.seed + settings.epoch : settings.seed).Shuffle(order);
  for (const uint32_t pick : order) {
    const uint32_t shard = picks[pick];
    const bool is_last = pick + 1 == picks.size() || picks[pick + 1] != shard;
    // The arithmetic of streaming takes a shard before an empty one for a multiple of granules.
    const bool before_empty = shard + 1 < shard_samples.size() && shard_samples[shard + 1] == 0;
    const int64_t rest = shard_samples[shard] % settings.granularity;
    const int64_t size = std::min(is_last && !before_empty && rest != 0 ? rest : settings.granularity, left);
    taken[shard] += size;
    left -= size;
    if (left == 0) {
      break;
    }
  }
  return taken;
}

class EpochSampler {
 public:
  explicit EpochSampler(const SamplingSettings& settings)
      : generator_(settings.balanced ? settings.seed + settings.epoch : settings.seed) {}

  /// `taken` samples of the shard whose first has number `first`.
  void Append(uint32_t first, int64_t of_shard, int64_t taken) {
    whole_ = whole_ && taken == of_shard;
    const int64_t rest = of_shard == 0 ? 0 : taken % of_shard;
    for (int64_t left = taken - rest; left > 0; left -= of_shard) {
      sampled_.units.push_back(of_shard);
      ids_.push_back({first, first + static_cast<uint32_t>(of_shard), {}});
    }
    if (rest > 0) {
      sampled_.units.push_back(rest);
      std::vector<uint32_t> chosen = generator_.Choice(of_shard, rest);
      std::sort(chosen.begin(), chosen.end());
      ids_.push_back({first, first, std::move(chosen)});
    }
    sampled_.samples += taken;
  }

  SampledEpoch Finish(uint32_t first) {
    sampled_.first = first;
    if (whole_) {
      return std::move(sampled_);
    }
    sampled_.ids.reserve(static_cast<size_t>(sampled_.samples));
    for (const Run& run : ids_) {
      for (uint32_t id = run.begin; id < run.end; ++id) {
        sampled_.ids.push_back(id);
      }
      for (const uint32_t chosen : run.chosen) {
        sampled_.ids.push_back(run.begin + chosen);
      }
    }
    return std::move(sampled_);
  }

 private:
  struct Run {
    uint32_t begin;
    uint32_t end;
    std::vector<uint32_t> chosen;
  };

  Generator generator_;
  SampledEpoch sampled_;
  std::vector<Run> ids_;
  bool whole_ = true;  // every shard once: numbers need no table
};

}  // namespace

int64_t StreamShape::samples() const {
  return Sum(shard_samples);
}

Result<StreamShares> ApplyWeights(std::span<const StreamShape> streams, int64_t epoch_size, uint64_t seed) {
  ASSAY_ASSIGN_OR_RETURN(const Weighting weighting, WeightingOf(streams));
  if (weighting == Weighting::kAbsolute && epoch_size != 0) {
    return Status::InvalidArgument("an epoch size needs proportions, or streams without weights");
  }
  int64_t samples = 0;
  std::vector<double> weights;
  for (const StreamShape& stream : streams) {
    samples += stream.samples();
    weights.push_back(stream.weight.proportion.value_or(static_cast<double>(stream.samples())));
  }
  if (NumpySum(weights) == 0) {
    return Status::InvalidArgument("the proportions of all streams are 0");
  }
  const bool relative = weighting == Weighting::kRelative || epoch_size != 0;
  StreamShares shares =
      relative ? ShareBy(std::move(weights), epoch_size == 0 ? samples : epoch_size, seed) : ShareAbsolutely(streams);
  if (shares.epoch_size < 1 || shares.epoch_size > kMostSamples || samples > kMostSamples) {
    return Status::InvalidArgument(
        fmt::format("an epoch has 1 to {} samples, and not {} of {}", kMostSamples, shares.epoch_size, samples));
  }
  return shares;
}

SampledEpoch SampleStreams(std::span<const StreamShape> streams, std::span<const int64_t> choose, size_t begin,
                           size_t end, const SamplingSettings& settings) {
  EpochSampler sampler(settings);
  uint32_t next = 0;
  uint32_t first = 0;
  for (size_t stream = 0; stream < end; ++stream) {
    const std::vector<int64_t>& shard_samples = streams[stream].shard_samples;
    if (stream < begin) {
      next += static_cast<uint32_t>(streams[stream].samples());
      first = next;
      continue;
    }
    const std::vector<int64_t> taken = SampleShards(shard_samples, choose[stream], settings);
    for (size_t shard = 0; shard < shard_samples.size(); ++shard) {
      sampler.Append(next, shard_samples[shard], taken[shard]);
      next += static_cast<uint32_t>(shard_samples[shard]);
    }
  }
  return sampler.Finish(first);
}

}  // namespace assay::shards
