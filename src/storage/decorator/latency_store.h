// Makes a store as slow as one that is far away.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "storage/decorator/intercepting_store.h"

namespace assay::storage {

struct LatencyModel {
  double median_seconds = 0.03;  ///< until an operation begins: log-normal
  double sigma = 0.5;            ///< of the logarithm; 0: always the median
  double bytes_per_s = 0;        ///< of one operation; 0: no limit
  uint64_t seed = 1;             ///< the same operations in the same order wait as long again
};

/// Waits before each operation and, for its bytes, after it. Operations of several threads wait at the same time.
class LatencyStore final : public InterceptingStore {
 public:
  using Sleep = std::function<void(double seconds)>;
  /// `sleep`: for tests; the thread sleeps when it is empty.
  LatencyStore(std::shared_ptr<ObjectStore> inner, const LatencyModel& model, Sleep sleep = nullptr);

 protected:
  Status Before(const StoreOperation& operation) override;
  Status After(const StoreOperation& operation, Status status) override;

 private:
  const LatencyModel model_;
  const Sleep sleep_;
  std::mutex mutex_;
  std::mt19937_64 random_;  // guarded by mutex_
};

}  // namespace assay::storage
