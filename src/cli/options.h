// Options that several verbs share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "explore/measure_point.h"
#include "job/plan.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

/// --output with the given choices; the first is the default.
void AddOutputOption(CLI::App& app, std::string& output, const std::vector<std::string>& choices);

/// --store URL.
void AddStoreOption(CLI::App& app, std::string& url);

/// The store at `url`, empty for the user's own. When its server goes away, standard error says so.
Result<std::unique_ptr<samplestore::SampleStore>> OpenUserStore(
    const std::string& url, samplestore::StoreAccess access = samplestore::StoreAccess::kReadWrite);

/// --reuse.
void AddReuseOption(CLI::App& app, explore::Reuse& reuse);

/// An error where a point was not measured now: somebody else measures it, or has measured it meanwhile.
Status CheckRecorded(const explore::PointResult& result, const std::string& entity_id,
                     const samplestore::SampleStore& store);

/// No count of anything is larger: products of two still fit 64 bits with a small third.
inline constexpr int64_t kLargestCount = int64_t{1} << 40;

/// Finite numbers and whole ones from `least` to `most`. CLI11's own checks let "nan" through, take -1 for the largest
/// number without a sign, and print bounds that nobody asked about with all of their digits.
CLI::Validator Number(double least, double most = std::numeric_limits<double>::infinity());
CLI::Validator WholeNumber(int64_t least, int64_t most = kLargestCount);
inline CLI::Validator NotNegative() {
  return Number(0);
}

/// A number of bytes as ParseBytes() reads it; the option names its type itself.
CLI::Validator ByteSize();

/// --write-plan FILE, for ranks that another launcher starts.
void AddWritePlanOption(CLI::App& app, std::string& path);
/// Writes `plan` to `path` and says how it is started.
Status WritePlan(const job::Plan& plan, const std::string& path);

/// Until Ctrl-C.
void WaitForInterrupt();

/// Where plans find models, data and caches.
experiment::PlanContext DefaultPlanContext();

}  // namespace assay::cli
