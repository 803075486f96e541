// What a store moves, measured: whole objects, many small ones, and a set of tensors as one object.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

struct StoreBenchPlan {
  enum class Work {
    kObject,   ///< one object from one piece of memory, and back
    kObjects,  ///< many objects with WriteMany and ReadMany
    kTensors,  ///< 8 tensors as one safetensors object from where they lie; back into new memory, by its header
  };
  Work work = Work::kObject;
  int64_t object_bytes = int64_t{512} << 20;
  int64_t objects = 1;  ///< of kObjects
  int repeats = 3;
  std::string prefix = "assay-bench/";  ///< of keys; what is written there is removed at the end
  CancelFlag cancel = nullptr;
};

/// Every repeat of one direction.
struct StoreBenchRow {
  std::string operation;  ///< "put" or "get"
  int64_t bytes = 0;      ///< of a repeat
  int64_t objects = 1;
  std::vector<double> seconds;
  std::vector<double> cpu_seconds;  ///< of this process
  /// The most that a repeat took beside the content's own memory; nothing where the system does not tell.
  std::optional<int64_t> peak_rss_beyond_bytes;
};

/// Puts and gets in turns. After every get the content is compared, outside of the time; a difference is an error.
/// Memory that receives objects is taken once and used again, that of tensors is new each time; before each repeat as
/// much as may be needed is taken and given back (WarmMemory).
Result<std::vector<StoreBenchRow>> RunStoreBench(ObjectStore& store, const StoreBenchPlan& plan);

}  // namespace assay::storage
