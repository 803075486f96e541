// What the server counts, and its form for Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "http/server.h"

namespace assay::objectserver {

/// One request once it was answered.
struct RequestSample {
  std::string operation;
  int status = 0;
  double seconds = 0;  ///< from its head to the last byte of the answer
  int64_t bytes_in = 0;
  int64_t bytes_out = 0;
};

/// Thread-safe.
class Metrics {
 public:
  void Record(const RequestSample& sample);
  void CountFault(const std::string& fault, const std::string& operation);
  /// Text format 0.0.4.
  std::string Render(const http::ServerStats& stats) const;

 private:
  /// Upper bounds in seconds; the last bucket has none.
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                                     0.05,   0.1,   0.2,   0.5,   1,    5};
  struct Operation {
    std::map<int, int64_t> by_status;
    std::array<int64_t, kBounds.size() + 1> buckets{};
    double seconds = 0;
    int64_t count = 0;
    int64_t bytes_in = 0;
    int64_t bytes_out = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Operation> operations_;
  std::map<std::pair<std::string, std::string>, int64_t> faults_;
};

}  // namespace assay::objectserver
