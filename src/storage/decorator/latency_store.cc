#include "storage/decorator/latency_store.h"

#include <chrono>
#include <cmath>
#include <thread>

namespace assay::storage {

LatencyStore::LatencyStore(std::shared_ptr<ObjectStore> inner, const LatencyModel& model, Sleep sleep)
    : InterceptingStore(std::move(inner)),
      model_(model),
      sleep_(sleep ? std::move(sleep)
                   : [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }),
      random_(model.seed) {}

Status LatencyStore::Before(const StoreOperation&) {
  double deviation = 0;
  {
    const std::lock_guard lock(mutex_);
    deviation = std::normal_distribution<double>()(random_);
  }
  sleep_(model_.median_seconds * std::exp(model_.sigma * deviation));
  return Status::Ok();
}

Status LatencyStore::After(const StoreOperation& operation, Status status) {
  if (status.ok() && model_.bytes_per_s > 0 && operation.bytes > 0) {
    sleep_(static_cast<double>(operation.bytes) / model_.bytes_per_s);
  }
  return status;
}

}  // namespace assay::storage
