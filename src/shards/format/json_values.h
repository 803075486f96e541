// Lists in JSON as arrays of numbers and lists of files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/field.h"

namespace assay::shards {

/// A list of numbers, or of such lists of equal length, however deep.
struct JsonArray {
  std::vector<int64_t> shape;
  std::vector<Field> numbers;  ///< in C order: kBool, kInteger, kUnsigned or kNumber
  bool has_fraction = false;
};
Result<JsonArray> ReadJsonArray(std::string_view json);

/// A list of texts in base64, decoded.
Result<std::vector<std::string>> ReadJsonBase64List(std::string_view json);

/// Appends what `text` in base64 (RFC 4648, padded) stands for.
Status AppendBase64(std::string_view text, std::string& out);

}  // namespace assay::shards
