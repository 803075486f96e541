// Rows as JSON: what people and other programs read, and a conversion takes again.
#pragma once

#include <span>
#include <string>

#include "shards/format/encoding.h"

namespace assay::shards {

/// Appends one line without its end: {"name": value, ...} as Python's json.dumps() writes it. Bytes are base64, arrays
/// lists of lists, lists of files lists of base64; what is not finite is NaN or Infinity, as Python has it.
void AppendRowJson(std::span<const Column> columns, const Row& row, std::string& out);

}  // namespace assay::shards
