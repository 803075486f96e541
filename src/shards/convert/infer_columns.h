// Columns and their encodings out of the first rows.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "shards/convert/encode_block.h"

namespace assay::shards {

/// Rows that are looked at.
inline constexpr int kInferredRows = 1000;

/// The columns of the first rows of `block`, which is the first of `source`, sorted by name:
/// - JSON: text is str, integers int (uint64 beyond int64), numbers float64, true and false uint8; lists, objects, and
///   whatever is null in some rows json.
/// - tar: by the endings of members: txt is str, cls int, json json, jpg jpeg, png png, all others bytes.
/// - Parquet: as the columns' types say; one that is null somewhere json, but for bytes.
/// - CSV: where every field is such a number int or float64, else str.
/// An error names the line: of a row that is not JSON, and of one whose column holds another kind of value than before.
Result<std::vector<Column>> InferColumns(const SourceFile& source, const SourceHead& head, const RowBlock& block);

/// Of images, by the endings of their files: image as jpeg or png, or bytes where there are both; label and name.
std::vector<Column> ColumnsOfImages(std::span<const SourceFile> sources);

}  // namespace assay::shards
