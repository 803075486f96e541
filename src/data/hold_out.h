// Rows of a data set that are kept from training, to evaluate on.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace assay::data {

/// Two token files that have the rows of one, each in its order.
struct HeldOut {
  std::string train_file;
  std::string held_out_file;
  int64_t rows = 0;  ///< that are held out
};

/// Divides the rows of `tokens_file`: of each file the rows follow from their number, the share and `seed` alone. The
/// files stand beside it, under its name, and are found again. Fails with one line where `share` of the rows, rounded
/// to the nearest number, is none of them or all.
Result<HeldOut> HoldOutRows(const std::string& tokens_file, double share, uint64_t seed);

}  // namespace assay::data
