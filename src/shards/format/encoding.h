// Encodings of columns: values to bytes and back, as MDS has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/field.h"

namespace assay::shards {

/// How a column's values are written. Plain data.
struct Encoding {
  enum class Kind : uint8_t {
    kBytes,       ///< also jpeg and png: files as they are
    kStr,         ///< UTF-8
    kScalar,      ///< a number of `dtype`; "int" is int64
    kStrInt,      ///< digits as text, of any size
    kStrFloat,    ///< likewise
    kStrDecimal,  ///< likewise
    kJson,
    kNdarray,    ///< an array: of `dtype` and `shape` where they are named
    kPil,        ///< width, height, mode and pixels
    kJpegArray,  ///< a list of files
    kList,       ///< likewise, with a word in front that is kept for later
  };

  std::string name{};  ///< as written: "ndarray:int32:2,3"
  Kind kind = Kind::kBytes;
  std::optional<DType> dtype{};
  std::vector<int64_t> shape{};
  std::optional<uint32_t> fixed_bytes{};  ///< of a value; nothing: it varies

  /// Every encoding of MDS but pkl, which runs whatever its file says: refused by name. Of an unknown one the error
  /// names the nearest.
  static Result<Encoding> Parse(std::string_view name);
};

using EncodingKind = Encoding::Kind;

/// A column of a data set.
struct Column {
  std::string name;
  Encoding encoding;
};

/// Columns out of "text:str,label:int,tok:ndarray:int32"; a comma within a shape is followed by a digit.
Result<std::vector<Column>> ParseColumns(std::string_view text);

/// Appends the bytes of `field`, equal to those of mosaicml-streaming for the same value. InvalidArgument where the
/// column cannot hold it: another type, beyond the range of its numbers, an array of another type or shape. Bytes pass
/// as they are, whatever the encoding says of them; where the column's values have a size, they have it.
///
/// Where values come as JSON: bytes are base64; an array is a list of lists of numbers, of the column's type, or else
/// of int64 or float64; a list of files is a list of base64.
Status EncodeField(const Encoding& encoding, const Field& field, std::string& out);

/// What `bytes` hold, as views into them. InvalidArgument where they do not hold such a value: every size in them is
/// checked. Texts of numbers (str_int, ...) are checked for being such.
Status DecodeField(const Encoding& encoding, std::span<const std::byte> bytes, Field& field);

}  // namespace assay::shards
