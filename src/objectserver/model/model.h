// The model at work: what happens to each request under a profile and a seed.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "objectserver/model/profile.h"

namespace assay::objectserver {

/// What the model looks at.
struct RequestTraits {
  std::string_view operation;
  bool write = false;
  bool conditional = false;  ///< carries If-Match, If-None-Match or a generation to match
  std::string_view bucket;
  std::string_view key;
  std::string_view detail;  ///< what tells requests for the same key apart: part number, range
};

/// What it decided.
struct RequestFate {
  bool throttled = false;
  double delay_seconds = 0;
  const FaultRule* fault = nullptr;  ///< owned by the model
  /// Even in [0, 1): where in the content the fault strikes.
  double position = 0;
};

/// Fates depend on the seed, on what is asked and on how often it was asked before, not on the order in which requests
/// of different keys arrive: the same work under the same seed meets the same latencies and faults. Only the rate
/// limit, being about time, depends on the clock. Thread-safe.
class Model {
 public:
  Model(Profile profile, uint64_t seed) : profile_(std::move(profile)), seed_(seed) {}
  /// `now` in monotonic seconds.
  RequestFate Decide(const RequestTraits& traits, double now);
  const Profile& profile() const { return profile_; }

 private:
  struct Allowance {
    double tokens = 0;
    double at = 0;
  };

  uint64_t CountOccurrence(uint64_t identity);
  bool Throttle(const RequestTraits& traits, double now);

  const Profile profile_;
  const uint64_t seed_;
  std::mutex mutex_;  ///< guards what follows
  std::unordered_map<uint64_t, uint64_t> occurrences_;
  std::unordered_map<std::string, Allowance> allowances_;
};

}  // namespace assay::objectserver
