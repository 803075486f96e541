// A value of a row, as sources give it and shards hold it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shards/format/dtype.h"

namespace assay::shards {

/// A view: what it shows lives as long as whoever gave it says. Which members hold something depends on `kind`.
struct Field {
  enum class Kind : uint8_t {
    kNull,
    kBool,        ///< integer: 0 or 1
    kInteger,     ///< integer
    kUnsigned,    ///< integer, as its bits: beyond int64_t
    kBigInteger,  ///< text: its digits, beyond 64 bits
    kNumber,      ///< number
    kText,        ///< text: UTF-8
    kBytes,       ///< text
    kJson,        ///< text: an object or a list as JSON
    kArray,       ///< dtype, shape and, in text, the values
    kList,        ///< items
  };

  Kind kind = Kind::kNull;
  DType dtype = DType::kUint8;
  int64_t integer = 0;
  double number = 0;
  /// Of kInteger, kUnsigned and kNumber, how it was written, where it was text.
  std::string_view text{};
  std::vector<int64_t> shape{};
  std::vector<std::string_view> items{};

  /// What it is, for messages: "a number", "null".
  std::string_view Describe() const;

  void SetNull() { kind = Kind::kNull; }
  void SetInteger(int64_t value) {
    kind = Kind::kInteger;
    integer = value;
    text = {};
  }
  void SetUnsigned(uint64_t value) {
    SetInteger(static_cast<int64_t>(value));
    kind = integer < 0 ? Kind::kUnsigned : Kind::kInteger;
  }
  void SetBool(bool value) {
    SetInteger(value ? 1 : 0);
    kind = Kind::kBool;
  }
  void SetNumber(double value) {
    kind = Kind::kNumber;
    number = value;
    text = {};
  }
  void SetText(Kind of, std::string_view value) {
    kind = of;
    text = value;
  }
};

using FieldKind = Field::Kind;

/// The fields of a row, one a column.
using Row = std::vector<Field>;

}  // namespace assay::shards
