// Made-up measurements for tests and for looking at the report: plausible figures, the same at every call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/result_set.h"
#include "samplestore/measurement.h"

namespace assay::report::testing {

struct SyntheticPoint {
  std::string model = "smollm2-135m";
  std::string method = "lora";  ///< full | lora
  int64_t max_length = 256;
  int64_t batch_size = 4;
  std::string dtype = "bfloat16";
  int steps = 24;
  uint64_t seed = 1;
  bool gpu = false;  ///< series and values of one GPU
};

/// A valid fine-tune with its properties, units, provenance and series.
samplestore::Measurement MakeValid(const SyntheticPoint& point);
samplestore::Measurement MakeInvalid(const SyntheticPoint& point, std::string reason);
samplestore::Measurement MakeFailed(const SyntheticPoint& point, std::string reason);

/// 2 methods x 2 lengths x 2 batch sizes, all valid.
std::vector<samplestore::Measurement> DemoSpace();

/// Parallel plugins x 9 batch sizes x 1, 2 and 4 ranks x 2 precisions: 378 points with everything that becomes of such.
/// Those beyond `most` are not measured, and go to `unmeasured` (or nowhere).
std::vector<samplestore::Measurement> VitSpace(size_t most, std::vector<UnmeasuredPoint>* unmeasured = nullptr);

/// Points of the same kind, without series.
std::vector<samplestore::Measurement> ManyPoints(size_t count);

}  // namespace assay::report::testing
