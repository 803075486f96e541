// Many operations of every kind on a few objects, each checked against what must stand: for stores that fail on
// purpose.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

struct MixedPlan {
  int64_t operations = 10'000;
  int threads = 8;
  uint64_t seed = 1;
  int64_t large_bytes = int64_t{12} << 20;  ///< of every hundredth write, which goes in parts
  std::string prefix = "assay-mixed/";
  CancelFlag cancel = nullptr;
  /// What stands under a key, told by another way than the store that is tested; nothing where nothing does. Asked
  /// after every change and at the end, from several threads. Null: the store alone is asked.
  std::function<std::optional<std::string>(const std::string& key)> truth{};
  bool lists_lag = true;  ///< a list may miss what was just written and show what was just removed
};

struct MixedResult {
  int64_t right = 0;
  int64_t errors = 0;       ///< operations that ended with an error instead
  std::string first_error;  ///< of them
  int64_t wrong = 0;        ///< other content than must stand, or an object that is missing or should not be there
  std::vector<std::string> first_wrong;  ///< a few of them, and how what came differs from what must stand
};

/// Every thread writes, with and without conditions, reads (one and many), copies, removes, stats and lists objects of
/// its own. A write that ended with an error leaves the old or the new object: both are right from then on, a mixture
/// never. At the end every object is read and compared.
Result<MixedResult> RunMixedWork(ObjectStore& store, const MixedPlan& plan);

}  // namespace assay::storage
