// Measurements and operations from one store into another.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "samplestore/sample_store.h"

namespace assay::samplestore {

struct CopySummary {
  int64_t added = 0;
  int64_t there_already = 0;  ///< measurements that `to` had, told by their uid
  int64_t operations = 0;     ///< added
};

/// Collects measurements and adds them to a store, many at a time, but for those that it has. Interrupted, it may be
/// done again: what was added stays.
class Importer {
 public:
  /// `on_batch` is told after each batch; it may be empty.
  Importer(SampleStore& store, std::function<void(const CopySummary&)> on_batch);
  /// kAborted when an interruption is requested.
  Status Add(Measurement measurement);
  /// Adds what was collected since the last batch.
  Status Finish();
  const CopySummary& summary() const { return summary_; }

 private:
  SampleStore& store_;
  std::function<void(const CopySummary&)> on_batch_;
  std::vector<Measurement> waiting_;
  CopySummary summary_;
};

/// Copies the measurements of `filter` with their series, in the order in which `from` got them, and, where the filter
/// is empty, the operations with their results.
Result<CopySummary> CopyStore(SampleStore& from, SampleStore& to, const MeasurementFilter& filter,
                              const std::function<void(const CopySummary&)>& on_batch = {});

}  // namespace assay::samplestore
