#include "engine/train/device_clock.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace assay::engine {
namespace {

class EventClock final : public DeviceClock {
 public:
  explicit EventClock(c10::Device device) : device_(device) {}

  size_t mark() override {
    constexpr auto kTimed = c10::EventFlag::BACKEND_DEFAULT;
    events_.emplace_back(device_.type(), kTimed).record(guard().getStream(device_));
    return events_.size() - 1;
  }

  std::vector<double> settle() override {
    // Not the device, where a snapshot may be copied beside what is timed.
    guard().getStream(device_).synchronize();
    constexpr double kSecondsPerMillisecond = 1e-3;
    std::vector<double> seconds;
    for (const c10::Event& event : events_) {
      seconds.push_back(events_.front().elapsedTime(event) * kSecondsPerMillisecond);
    }
    events_.clear();
    return seconds;
  }

 private:
  c10::impl::VirtualGuardImpl guard() const { return c10::impl::VirtualGuardImpl(device_.type()); }

  c10::Device device_;
  std::vector<c10::Event> events_;
};

}  // namespace

std::unique_ptr<DeviceClock> make_device_clock(c10::Device device) {
  return device.is_cpu() ? nullptr : std::make_unique<EventClock>(device);
}

}  // namespace assay::engine
