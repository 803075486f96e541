// The samplers by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "explore/search/grid.h"
#include "explore/search/sampler.h"

namespace assay::explore {

/// A row of the table. To add a sampler: one file with its class, and a row.
struct SamplerKind {
  const char* name;
  const char* summary;
  /// For at most `count` points of `grid`.
  std::unique_ptr<Sampler> (*make)(const Grid& grid, int64_t count, uint64_t seed);
};

std::span<const SamplerKind> SamplerKinds();

/// kInvalidArgument for a name that there is not.
Result<std::unique_ptr<Sampler>> MakeSampler(std::string_view name, const Grid& grid, int64_t count, uint64_t seed);

}  // namespace assay::explore
