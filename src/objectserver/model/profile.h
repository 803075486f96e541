// Profiles: what network and what store the server pretends to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace assay::objectserver {

struct Lie;  // model/lies.h

/// Seconds from the end of a request to the first byte of its answer: a lognormal distribution given by its median and
/// its 99th percentile, or percentiles with straight lines between them. Neither: none.
struct LatencyModel {
  double median_seconds = 0;
  double p99_seconds = 0;
  std::vector<std::pair<double, double>> percentiles;  ///< (percent, seconds), rising

  /// The latency for two numbers drawn evenly from [0, 1).
  double Sample(double first, double second) const;
};

enum class FaultKind {
  kReturn,       ///< an error with `status`; with `after_bytes`, once so many bytes of the body have come
  kReset,        ///< the connection is reset within the answer; a write is not carried out
  kLostAnswer,   ///< the request is carried out, and the connection is reset in place of the answer
  kStall,        ///< the answer stops; a write is not carried out
  kTruncate,     ///< the connection is closed within the answer; a write is not carried out
  kBitFlip,      ///< one bit of the content is wrong, in what is sent or in what came
  kErrorInside,  ///< status 200 with an error as its body: CompleteMultipartUpload and the copies
  kExpiredToken,
  kStaleList,  ///< lists do not show what was created within the last `window_seconds`
  kConflict,   ///< a conditional write is refused with `status`, 409 or 412
  kDelay,      ///< the answer is held back for `window_seconds`
  kLie,        ///< `lie` is told
};

struct FaultRule {
  FaultKind kind = FaultKind::kReturn;
  std::string name;                     ///< of the kind, as profiles and metrics write it
  double rate = 0;                      ///< of the requests it applies to
  std::vector<std::string> operations;  ///< names as metrics write them; empty: all that the kind makes sense for
  int status = 503;
  std::optional<int64_t> after_bytes;  ///< of the body; none: drawn evenly
  double window_seconds = 5;
  const Lie* lie = nullptr;
};

struct Profile {
  LatencyModel read_latency;
  LatencyModel write_latency;
  LatencyModel list_latency;
  double connection_bytes_per_s = 0;  ///< each way; 0: as fast as it goes
  double total_bytes_per_s = 0;
  double reads_per_s = 0;  ///< a prefix: a bucket and the first part of a key; 0: as many as come
  double writes_per_s = 0;
  std::vector<FaultRule> faults;
  bool ignores_conditions = false;  ///< of writes, as some stores of S3's interface do
};

/// Reads `file_or_name`: a YAML file, or the name of one in `share_directory`/profiles. A malformed one is one line
/// with file, line and the nearest known key.
Result<Profile> ReadProfile(const std::string& file_or_name, const std::string& share_directory);
Result<Profile> ParseProfile(std::string_view text, std::string source);

}  // namespace assay::objectserver
