// The clock that leases of claims are told in.
#pragma once

#include <functional>
#include <limits>
#include <string>

namespace assay::samplestore {

/// Seconds that only grow, whatever is done to the time of day, and stand still while the machine sleeps. All users of
/// a store of one machine read the same clock.
struct LeaseClock {
  std::string epoch;  ///< one run of the clock, a boot of the machine: leases of another one are over
  std::function<double()> seconds;
};

LeaseClock MachineLeaseClock();

/// What a store's clock says.
struct StoreTime {
  std::string epoch;
  double seconds = 0;
  /// Since when, on this clock, the store can be reached. While it could not, nobody renewed a lease.
  double reachable_since = -std::numeric_limits<double>::infinity();
};

}  // namespace assay::samplestore
