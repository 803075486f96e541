// Options that several verbs share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "explore/measure_point.h"

namespace assay::cli {

/// --output with the given choices; the first is the default.
void AddOutputOption(CLI::App& app, std::string& output, const std::vector<std::string>& choices);

/// --store URL.
void AddStoreOption(CLI::App& app, std::string& url);

/// --reuse.
void AddReuseOption(CLI::App& app, explore::Reuse& reuse);

/// A number of 0 or more. CLI11's own check prints the largest double with all of its digits.
CLI::Validator NotNegative();

/// A number of bytes as ParseBytes() reads it; the option names its type itself.
CLI::Validator ByteSize();

/// Where plans find models, data and caches.
experiment::PlanContext DefaultPlanContext();

}  // namespace assay::cli
