// Time and peak tensor memory of the phases of a run.
#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/train/device_clock.h"
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
  explicit PhaseMeter(c10::Device device) : PhaseMeter(device, make_device_clock(device)) {}
  /// With another clock than the device's own.
  PhaseMeter(c10::Device device, std::unique_ptr<DeviceClock> clock) : device_(device), clock_(std::move(clock)) {}

  /// Runs `body` and adds what it used to `use`. The device has done its work when this returns.
  template <typename Body>
  void measure(std::string_view phase, PhaseUse& use, Body&& body) {
    phase_ = phase;
    const double start = begin();
    std::forward<Body>(body)();
    end(start, use);
  }

  /// The same without waiting for the device: the time of `use`, which must live until then, is complete after
  /// settle().
  template <typename Body>
  void measure_ahead(std::string_view phase, PhaseUse& use, Body&& body) {
    if (clock_ == nullptr) {
      measure(phase, use, std::forward<Body>(body));
      return;
    }
    phase_ = phase;
    const size_t first = begin_ahead();
    std::forward<Body>(body)();
    end_ahead(first, use);
  }
  /// Waits for the device, once for all phases that were measured ahead.
  void settle();

  void set_device(c10::Device device) {
    device_ = device;
    clock_ = make_device_clock(device);
  }
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
  /// A phase whose time the clock knows.
  struct Ahead {
    std::string phase;
    PhaseUse* use;
    size_t first_mark;
    size_t last_mark;
  };

  double begin();
  void end(double start, PhaseUse& use);
  size_t begin_ahead();
  void end_ahead(size_t first_mark, PhaseUse& use);
  void add_host_use(PhaseUse& use);

  c10::Device device_;
  std::unique_ptr<DeviceClock> clock_;  ///< null: the device has done its work when the host goes on
  std::vector<Ahead> ahead_;
  double ahead_since_ = 0;  ///< when the first of these began
  std::string phase_ = "start";
  int64_t step_ = 0;
  int64_t overall_peak_bytes_ = 0;
  int64_t overall_peak_reserved_bytes_ = 0;
  std::function<double()> waited_;
  double waited_before_ = 0;  ///< the present phase
  RankTrace* trace_ = nullptr;
};

}  // namespace assay::engine
