// Time and peak tensor memory of the phases of a run.
#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/train/rank_trace.h"

namespace assay::engine {

/// What a phase used; several runs of the same phase add up their time and keep the highest peak.
struct PhaseUse {
  double seconds = 0;
  double waited_seconds = 0;  ///< of these, for communication
  int64_t peak_bytes = 0;
};

/// Measures one phase at a time and remembers the last one begun, so that a failure can say where it happened. Tensor
/// memory includes weights that are mapped files. Not safe to use from two threads.
class PhaseMeter {
 public:
  explicit PhaseMeter(c10::Device device) : device_(device) {}

  /// Runs `body` and adds what it used to `use`. The device has done its work when this returns.
  template <typename Body>
  void measure(std::string_view phase, PhaseUse& use, Body&& body) {
    phase_ = phase;
    const double start = begin();
    std::forward<Body>(body)();
    end(start, use);
  }

  void set_device(c10::Device device) { device_ = device; }
  void set_step(int64_t step);
  /// Further phases and steps are written there too; nullptr: nowhere. Must outlive this.
  void set_trace(RankTrace* trace) { trace_ = trace; }
  /// `seconds` tells how long this rank has waited for communication so far; empty: it does not wait for any. What it
  /// reads must outlive this.
  void set_waited(std::function<double()> seconds) { waited_ = std::move(seconds); }
  /// The present step took from `start` for `seconds`, as its phases did.
  void end_step(double start, double seconds);
  /// "forward of step 3", "load"
  std::string where() const;
  /// Highest peak of all phases measured, or the present one's so far.
  int64_t overall_peak_bytes() const;
  /// The same of what the allocator took of a CUDA device, blocks kept for reuse included; 0 elsewhere.
  int64_t overall_peak_reserved_bytes() const;

 private:
  double begin();
  void end(double start, PhaseUse& use);

  c10::Device device_;
  std::string phase_ = "start";
  int64_t step_ = 0;
  int64_t overall_peak_bytes_ = 0;
  int64_t overall_peak_reserved_bytes_ = 0;
  std::function<double()> waited_;
  double waited_before_ = 0;  ///< the present phase
  RankTrace* trace_ = nullptr;
};

}  // namespace assay::engine
