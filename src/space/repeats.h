// How often a space's points shall be measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/yaml.h"

namespace assay::space {

inline constexpr int64_t kMostRepeats = 1000;

/// `repeats` of a space: a number, or `{until: {interval: 5%, target: NAME, at_most: 20}}`.
struct Repeats {
  int64_t at_most = 0;   ///< of each point; 0: not said
  double interval = 0;   ///< half of the width of its mean's interval, by the mean, at which they end; 0: never before
  std::string target{};  ///< of which that is asked; empty: the throughput of its experiment
  std::string where{};
};

/// "5%" and "0.05" are 0.05. Refuses what is not between 0 and 1, neither of them included.
Result<double> ParseInterval(std::string_view text);

Result<Repeats> ReadRepeats(const YamlNode& node);

}  // namespace assay::space
