// Rows that follow one another, column by column, as Arrow lays them out.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/field.h"

namespace assay::shards {

/// A column of a batch. Views of memory that the batch keeps.
struct BatchColumn {
  enum class Kind : uint8_t {
    kText,     ///< UTF-8 that nobody has checked
    kBytes,    ///< of any size
    kBool,     ///< numbers, 0 or 1
    kNumber,   ///< of `dtype`
    kDecimal,  ///< digits as text
    kArray,    ///< lists of numbers of `dtype`
    kJson,     ///< lists and objects as JSON
  };

  std::string name{};
  Kind kind = Kind::kText;
  DType dtype = DType::kUint8;   ///< of kBool, kNumber and kArray
  std::vector<int64_t> shape{};  ///< of kArray, of each row; empty: lists of any length
  std::string_view valid{};      ///< a byte a row, 0: it is null; empty: none is
  std::string_view offsets{};    ///< but of numbers: int64, one a row and an end: bytes, of kArray numbers
  std::string_view values{};     ///< from the first offset on

  /// Row `row`, as a view of the batch.
  void Read(int64_t row, Field& field) const;
  /// Whether one of the first `rows` is null.
  bool HasNull(int64_t rows) const {
    return valid.substr(0, static_cast<size_t>(rows)).find('\0') != std::string_view::npos;
  }
};

struct ColumnBatch {
  std::string memory{};              ///< what the columns are views of
  std::vector<std::string> names{};  ///< of all columns of the file, read or not
  std::vector<BatchColumn> columns{};
  int64_t rows = 0;
  int64_t source_bytes = 0;  ///< of the file, about, that these rows are
};

/// Out of `head` and the bytes that follow it, as parquet_stream.h says. Internal where they do not agree.
Result<std::shared_ptr<const ColumnBatch>> ParseColumnBatch(const nlohmann::json& head, std::string bytes);

}  // namespace assay::shards
