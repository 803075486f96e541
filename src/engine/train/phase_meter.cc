#include "engine/train/phase_meter.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "base/text.h"
#include "engine/kernels/memory.h"
#include "engine/model/mapped_pages.h"

namespace assay::engine {
namespace {

/// Mapped weights are in the memory of the host: part of the same account only when that is where tensors are.
int64_t peak_bytes_now(c10::Device device) {
  return PeakTensorBytes() + (device.is_cpu() ? mapped_bytes() : 0);
}

}  // namespace

std::string PhaseMeter::where() const {
  return step_ > 0 ? fmt::format("{} of step {}", phase_, step_) : phase_;
}

int64_t PhaseMeter::overall_peak_bytes() const {
  return std::max(overall_peak_bytes_, peak_bytes_now(device_));
}

int64_t PhaseMeter::overall_peak_reserved_bytes() const {
  return std::max(overall_peak_reserved_bytes_, PeakReservedBytes());
}

void PhaseMeter::set_step(int64_t step) {
  step_ = step;
  if (trace_ != nullptr) {
    trace_->set_step(step);
  }
}

void PhaseMeter::end_step(double start, double seconds) {
  if (trace_ != nullptr) {
    trace_->add("step", "step", start, start + seconds);
  }
}

double PhaseMeter::begin() {
  overall_peak_bytes_ = overall_peak_bytes();
  overall_peak_reserved_bytes_ = overall_peak_reserved_bytes();
  ResetPeakTensorBytes();
  waited_before_ = waited_ ? waited_() : 0;
  return MonotonicSeconds();
}

void PhaseMeter::end(double start, PhaseUse& use) {
  if (!device_.is_cpu()) {
    // Not the device, where a snapshot may be copied beside the phase.
    c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).synchronize();
  }
  const double now = MonotonicSeconds();
  use.seconds += now - start;
  add_host_use(use);
  if (trace_ != nullptr) {
    trace_->add(phase_, "phase", start, now);
  }
}

/// What the host knows of a phase without the device.
void PhaseMeter::add_host_use(PhaseUse& use) {
  use.waited_seconds += waited_ ? waited_() - waited_before_ : 0;
  use.peak_bytes = std::max(use.peak_bytes, peak_bytes_now(device_));
}

size_t PhaseMeter::begin_ahead() {
  const double now = begin();
  ahead_since_ = ahead_.empty() ? now : ahead_since_;
  return clock_->mark();
}

void PhaseMeter::end_ahead(size_t first_mark, PhaseUse& use) {
  ahead_.push_back({phase_, &use, first_mark, clock_->mark()});
  add_host_use(use);
}

void PhaseMeter::settle() {
  if (ahead_.empty()) {
    return;
  }
  const std::vector<double> seconds = clock_->settle();
  for (const Ahead& ahead : std::exchange(ahead_, {})) {
    const double start = seconds[ahead.first_mark];
    const double end = seconds[ahead.last_mark];
    ahead.use->seconds += end - start;
    if (trace_ != nullptr) {
      trace_->add(ahead.phase, "phase", ahead_since_ + start, ahead_since_ + end);
    }
  }
}

}  // namespace assay::engine
