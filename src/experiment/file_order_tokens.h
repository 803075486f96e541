// How the reference counts the tokens of a run.
#pragma once

#include <cstdint>

#include "data/token_file.h"

namespace assay::experiment {

/// Tokens of rows [first_row, end_row) in file order, each cut to `max_length`; beyond the last row it goes on with the
/// first one.
int64_t FileOrderTokens(const data::TokenFile& file, int64_t first_row, int64_t end_row, int64_t max_length);

}  // namespace assay::experiment
