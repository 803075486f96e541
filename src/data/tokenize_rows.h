// Encodes a sequence of rows on several threads, in order, into a token file.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "data/rows.h"

namespace assay::data {

struct TokenizeOptions {
  std::string tokenizer_dir;  ///< read only when a row of text turns up
  std::string no_tokenizer;   ///< without one: what a row of text is refused with; empty: a line that fits any caller
  std::string response_template;
  int64_t max_tokens = 0;  ///< a row
  int threads = 1;
};

/// Writes all `rows` to `path`, atomically. An error names the first bad row; it does not depend on the threads.
Status TokenizeRows(const RowSource& rows, const TokenizeOptions& options, const std::string& path);

}  // namespace assay::data
