#include "explore/search/samplers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "explore/search/latin_hypercube.h"
#include "explore/search/model_sampler.h"
#include "explore/search/untried.h"

namespace assay::explore {
namespace {

/// The space's order.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  std::optional<int64_t> Next() override { return next_ < size_ ? std::optional(next_++) : std::nullopt; }

 private:
  const int64_t size_;
  int64_t next_ = 0;
};

/// First what it is given, then any other.
class RandomSampler : public Sampler {
 public:
  RandomSampler(int64_t size, uint64_t seed, std::vector<int64_t> first = {})
      : untried_(size, seed), first_(std::move(first)) {}

  std::optional<int64_t> Next() override {
    while (!first_.empty()) {
      const int64_t position = first_.back();
      first_.pop_back();
      if (untried_.Take(position)) {
        return position;
      }
    }
    return untried_.TakeAny();
  }

 private:
  Untried untried_;
  std::vector<int64_t> first_;
};

std::unique_ptr<Sampler> MakeSequential(const Grid& grid, int64_t /*count*/, uint64_t /*seed*/) {
  return std::make_unique<SequentialSampler>(grid.size());
}

std::unique_ptr<Sampler> MakeRandom(const Grid& grid, int64_t /*count*/, uint64_t seed) {
  return std::make_unique<RandomSampler>(grid.size(), seed);
}

std::unique_ptr<Sampler> MakeLatinHypercube(const Grid& grid, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  return std::make_unique<RandomSampler>(grid.size(), seed, LatinHypercube(grid, count, random));
}

std::unique_ptr<Sampler> MakeModel(const Grid& grid, int64_t /*count*/, uint64_t seed) {
  return std::make_unique<ModelSampler>(grid, seed);
}

constexpr SamplerKind kKinds[] = {
    {"sequential", "in the space's order", &MakeSequential},
    {"random", "in any order", &MakeRandom},
    {"latin-hypercube", "so that every property's values are met evenly", &MakeLatinHypercube},
    {"model", "where a model of what was measured expects most", &MakeModel},
};

}  // namespace

std::span<const SamplerKind> SamplerKinds() {
  return kKinds;
}

Result<std::unique_ptr<Sampler>> MakeSampler(std::string_view name, const Grid& grid, int64_t count, uint64_t seed) {
  const auto* kind = std::ranges::find_if(kKinds, [&](const SamplerKind& each) { return each.name == name; });
  if (kind == std::end(kKinds)) {
    return Status::InvalidArgument(fmt::format("there is no sampler '{}'", name));
  }
  return kind->make(grid, count, seed);
}

}  // namespace assay::explore
