#include "shards/convert/parquet/column_batch.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"

namespace assay::shards {
namespace {

constexpr std::pair<std::string_view, BatchColumn::Kind> kColumnKinds[] = {
    {"text", BatchColumn::Kind::kText},       {"bytes", BatchColumn::Kind::kBytes},
    {"bool", BatchColumn::Kind::kBool},       {"number", BatchColumn::Kind::kNumber},
    {"decimal", BatchColumn::Kind::kDecimal}, {"array", BatchColumn::Kind::kArray},
    {"json", BatchColumn::Kind::kJson}};

template <typename T>
T ValueAt(std::string_view values, int64_t index) {
  T value;
  std::memcpy(&value, values.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

void SetNumber(DType dtype, std::string_view values, int64_t row, Field& field) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      return field.SetInteger(ValueAt<uint8_t>(values, row));
    case DType::kInt8:
      return field.SetInteger(ValueAt<int8_t>(values, row));
    case DType::kUint16:
      return field.SetInteger(ValueAt<uint16_t>(values, row));
    case DType::kInt16:
      return field.SetInteger(ValueAt<int16_t>(values, row));
    case DType::kUint32:
      return field.SetInteger(ValueAt<uint32_t>(values, row));
    case DType::kInt32:
      return field.SetInteger(ValueAt<int32_t>(values, row));
    case DType::kUint64:
      return field.SetUnsigned(ValueAt<uint64_t>(values, row));
    case DType::kInt64:
      return field.SetInteger(ValueAt<int64_t>(values, row));
    case DType::kFloat16:
      return field.SetNumber(DoubleOfHalf(ValueAt<uint16_t>(values, row)));
    case DType::kFloat32:
      return field.SetNumber(ValueAt<float>(values, row));
    case DType::kFloat64:
      return field.SetNumber(ValueAt<double>(values, row));
  }
}

bool HasOffsets(BatchColumn::Kind kind) {
  return kind != BatchColumn::Kind::kBool && kind != BatchColumn::Kind::kNumber;
}

/// Of a value that offsets count.
size_t ItemBytes(const BatchColumn& column) {
  return column.kind == BatchColumn::Kind::kArray ? BytesOf(column.dtype) : 1;
}

/// Whether `count` values are an array of `shape`.
bool Fills(const std::vector<int64_t>& shape, int64_t count) {
  for (const int64_t size : shape) {
    if (size <= 0 || count % size != 0) {
      return size == 0 && count == 0;
    }
    count /= size;
  }
  return count == 1;
}

/// Whether every row lies within the values, and has as many as its shape says.
bool IsSound(const BatchColumn& column, int64_t rows) {
  const auto count = static_cast<size_t>(rows);
  if (!column.valid.empty() && column.valid.size() != count) {
    return false;
  }
  if (!HasOffsets(column.kind)) {
    return column.values.size() == count * BytesOf(column.dtype);
  }
  if (column.offsets.size() != (count + 1) * sizeof(int64_t)) {
    return false;
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t size = ValueAt<int64_t>(column.offsets, row + 1) - ValueAt<int64_t>(column.offsets, row);
    const bool is_null = !column.valid.empty() && column.valid[static_cast<size_t>(row)] == '\0';
    if (size < 0 || (!column.shape.empty() && !is_null && !Fills(column.shape, size))) {
      return false;
    }
  }
  const int64_t items = ValueAt<int64_t>(column.offsets, rows) - ValueAt<int64_t>(column.offsets, 0);
  return column.values.size() == static_cast<size_t>(items) * ItemBytes(column);
}

/// The column that `head` tells of, its parts at the front of `bytes`, which they are taken from.
std::optional<BatchColumn> ParseColumn(const nlohmann::json& head, int64_t rows, std::string_view& bytes) {
  BatchColumn column;
  std::string kind;
  std::string dtype;
  std::vector<int64_t> sizes;
  const bool has_fields = ReadField(head, "name", column.name).ok() && ReadField(head, "holds", kind).ok() &&
                          ReadField(head, "dtype", dtype).ok() && ReadField(head, "shape", column.shape).ok() &&
                          ReadField(head, "sizes", sizes).ok();
  const auto* const known =
      std::ranges::find(kColumnKinds, kind, &std::pair<std::string_view, BatchColumn::Kind>::first);
  if (!has_fields || known == std::end(kColumnKinds) || sizes.size() != 3) {
    return std::nullopt;
  }
  column.kind = known->second;
  if (!dtype.empty()) {
    const std::optional<DType> parsed = ParseDType(dtype);
    if (!parsed) {
      return std::nullopt;
    }
    column.dtype = *parsed;
  }
  std::string_view* const parts[] = {&column.valid, &column.offsets, &column.values};
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || static_cast<size_t>(sizes[i]) > bytes.size()) {
      return std::nullopt;
    }
    *parts[i] = bytes.substr(0, static_cast<size_t>(sizes[i]));
    bytes.remove_prefix(parts[i]->size());
  }
  return IsSound(column, rows) ? std::optional(std::move(column)) : std::nullopt;
}

}  // namespace

void BatchColumn::Read(int64_t row, Field& field) const {
  if (!valid.empty() && valid[static_cast<size_t>(row)] == '\0') {
    return field.SetNull();
  }
  if (!HasOffsets(kind)) {
    SetNumber(dtype, values, row, field);
    field.kind = kind == BatchColumn::Kind::kBool ? FieldKind::kBool : field.kind;
    return;
  }
  const int64_t first = ValueAt<int64_t>(offsets, 0);
  const int64_t begin = ValueAt<int64_t>(offsets, row) - first;
  const int64_t end = ValueAt<int64_t>(offsets, row + 1) - first;
  const size_t item = ItemBytes(*this);
  const FieldKind of = kind == BatchColumn::Kind::kBytes   ? FieldKind::kBytes
                       : kind == BatchColumn::Kind::kArray ? FieldKind::kArray
                       : kind == BatchColumn::Kind::kJson  ? FieldKind::kJson
                                                           : FieldKind::kText;
  field.SetText(of, values.substr(static_cast<size_t>(begin) * item, static_cast<size_t>(end - begin) * item));
  if (kind == BatchColumn::Kind::kArray) {
    field.dtype = dtype;
    field.shape = shape.empty() ? std::vector{end - begin} : shape;
  }
}

Result<std::shared_ptr<const ColumnBatch>> ParseColumnBatch(const nlohmann::json& head, std::string bytes) {
  auto batch = std::make_shared<ColumnBatch>();
  batch->memory = std::move(bytes);
  ASSAY_RETURN_IF_ERROR(ReadField(head, "rows", batch->rows));
  ASSAY_RETURN_IF_ERROR(ReadField(head, "names", batch->names));
  ASSAY_RETURN_IF_ERROR(ReadField(head, "source_bytes", batch->source_bytes));
  std::string_view rest = batch->memory;
  for (const nlohmann::json& of_column : head.value("columns", nlohmann::json::array())) {
    std::optional<BatchColumn> column = ParseColumn(of_column, batch->rows, rest);
    if (!column) {
      return Status::Internal("the reader of Parquet sent a column whose sizes do not agree");
    }
    batch->columns.push_back(*std::move(column));
  }
  return std::shared_ptr<const ColumnBatch>(std::move(batch));
}

}  // namespace assay::shards
