#include "storage/transfer/part_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::storage {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t RoundUp(int64_t value, int64_t multiple) {
  return CeilDivide(value, multiple) * multiple;
}

int64_t Wanted(const StoreOptions& options) {
  return options.part_bytes > 0 ? options.part_bytes : kDefaultPartBytes;
}

int64_t WithinLimits(int64_t part_bytes, const DialectTraits& traits) {
  return RoundUp(std::clamp(part_bytes, traits.min_part_bytes, traits.max_part_bytes), traits.part_multiple_bytes);
}

}  // namespace

int ConnectionsOf(const StoreOptions& options) {
  return options.connections > 0 ? options.connections : kDefaultConnections;
}

Result<PartPlan> PlanUpload(int64_t object_bytes, const StoreOptions& options, const DialectTraits& traits) {
  PartPlan plan;
  plan.part_bytes = WithinLimits(Wanted(options), traits);
  if (options.part_bytes == 0 && object_bytes <= std::min(kSinglePutBytes, traits.max_part_bytes)) {
    plan.part_bytes = std::max(plan.part_bytes, object_bytes);
  }
  while (CeilDivide(object_bytes, plan.part_bytes) > traits.max_parts) {
    if (plan.part_bytes >= traits.max_part_bytes) {
      return Status::InvalidArgument(fmt::format("{} do not fit in {} parts of {}, the most this store takes",
                                                 FormatBytes(static_cast<double>(object_bytes)), traits.max_parts,
                                                 FormatBytes(static_cast<double>(traits.max_part_bytes))));
    }
    plan.part_bytes = WithinLimits(plan.part_bytes * 2, traits);
  }
  plan.parts = std::max<int64_t>(1, CeilDivide(object_bytes, plan.part_bytes));
  plan.connections = static_cast<int>(std::min<int64_t>(plan.parts, ConnectionsOf(options)));
  return plan;
}

PartPlan PlanDownload(int64_t bytes, const StoreOptions& options) {
  PartPlan plan;
  plan.part_bytes = Wanted(options);
  plan.parts = std::max<int64_t>(1, CeilDivide(bytes, plan.part_bytes));
  plan.connections = static_cast<int>(std::min<int64_t>(plan.parts, ConnectionsOf(options)));
  return plan;
}

int64_t StreamPartBytes(int64_t number, const StoreOptions& options, const DialectTraits& traits) {
  const int64_t base = WithinLimits(Wanted(options), traits);
  const int64_t most = std::max(base, options.memory_budget_bytes / 2);
  const int64_t doublings = std::min<int64_t>(20, (number - 1) * 10 / std::max<int64_t>(traits.max_parts, 10));
  return WithinLimits(std::min(base << doublings, most), traits);
}

}  // namespace assay::storage
