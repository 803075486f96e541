// Names of the files that ranks write: spread over prefixes, stores that limit requests by prefix take more of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::checkpoint {

/// The strategies of s3torchconnector (dcp/s3_prefix_strategy.py), whose names these are.
enum class PrefixStrategy {
  kDefault,     ///< "__RANK_"
  kBinary,      ///< the rank's number in that base, its digits reversed, before "/__RANK_"
  kHex,         ///< likewise
  kRoundRobin,  ///< one of the given prefixes in turn before "/__RANK_"
};

struct PrefixOptions {
  PrefixStrategy strategy = PrefixStrategy::kDefault;
  std::optional<int64_t> epoch{};       ///< "epoch_N/" before "__RANK_"; not with kDefault
  int least_digits = 10;                ///< of kBinary and kHex
  int count = 0;                        ///< different prefixes of those; 0: one a rank
  std::vector<std::string> prefixes{};  ///< of kRoundRobin
};

/// What the names of rank `rank`'s files of `ranks` begin with; "0.distcp" and so on follow.
std::string FilePrefix(const PrefixOptions& options, int rank, int ranks);

/// "default", "binary", "hex", or prefixes joined by commas, in turn; with an epoch from 0 on. InvalidArgument for what
/// can be no part of a name.
Result<PrefixOptions> ParsePrefixStrategy(std::string_view text, int64_t epoch = -1);

}  // namespace assay::checkpoint
