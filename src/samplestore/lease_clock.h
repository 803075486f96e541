// The clock that leases of claims are told in.
#pragma once

#include <functional>
#include <string>

namespace assay::samplestore {

/// Seconds that only grow, whatever is done to the time of day, and stand still while the machine sleeps. A store is of
/// one machine, so that all its users read the same clock.
struct LeaseClock {
  std::string epoch;  ///< one run of the clock, a boot of the machine: leases of another one are over
  std::function<double()> seconds;
};

LeaseClock MachineLeaseClock();

}  // namespace assay::samplestore
