// Keeps a claim alive while its point is measured.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "samplestore/sample_store.h"

namespace assay::explore {

/// A thread that renews the claims of one owner three times a lease, until it is destroyed. `store` must outlive it.
class ClaimHeartbeat {
 public:
  ClaimHeartbeat(samplestore::SampleStore& store, std::string owner, double lease_seconds);

 private:
  void Beat(const std::stop_token& stop);

  samplestore::SampleStore& store_;
  std::string owner_;
  double lease_seconds_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last, so that it ends before what it uses
};

}  // namespace assay::explore
