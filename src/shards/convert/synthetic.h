// Rows that are drawn: data sets of any size and shape without a source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/encoding.h"

namespace assay::shards {

/// Each row is a function of the settings and its number alone; those of a data set that is appended to go on with the
/// numbers. Plain data.
struct SyntheticRows {
  enum class Kind : uint8_t {
    kText,    ///< words, of which the first quarter is `prompt` and the rest `completion`: both are text
    kTokens,  ///< `input_ids`, which are int32
    kImage,   ///< `image`, a PNG of smooth colours with some noise, and `label`
  };

  Kind kind = Kind::kText;
  int64_t least = 1024;  ///< bytes of text, tokens, or pixels of an image's side: drawn between both
  int64_t most = 1024;
  int64_t values = 2;  ///< that tokens and labels are drawn of: the size of the vocabulary, the number of classes
  uint64_t seed = 0;
  int64_t samples = 0;  ///< how many rows

  /// "text:1024", "tokens:16-512", "image:224": a kind, and one size or two. Of text they may have units: "text:1KiB".
  /// All else is as it was.
  Status SetShape(std::string_view shape);

  /// What tells these rows from others, for people and plans.
  std::string Name() const;
  std::vector<Column> Columns() const;

  /// Of a row at most, about.
  int64_t row_bytes() const;
  /// Row `number`, from 0, of as many fields as there are columns: views into `memory`.
  Status Draw(int64_t number, Row& row, std::string& memory) const;
};

}  // namespace assay::shards
