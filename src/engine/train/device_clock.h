// When a device gets to places in its work, told without the host waiting for it there.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace assay::engine {

/// Of one device's current stream. Not safe to use from two threads.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  /// Notes the present end of the device's work. Returns the number of marks before it since the last settle().
  virtual size_t mark() = 0;
  /// Waits for the device; gives the seconds from the first mark to each, and forgets them.
  virtual std::vector<double> settle() = 0;
};

/// Null for a device that has done its work when the host goes on: a CPU.
std::unique_ptr<DeviceClock> make_device_clock(c10::Device device);

}  // namespace assay::engine
