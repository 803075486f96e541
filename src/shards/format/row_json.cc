#include "shards/format/row_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "shards/format/python_text.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

void AppendNumber(double value, std::string& out) {
  if (std::isfinite(value)) {
    AppendPythonFloat(out, value);
  } else {
    out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  }
}

template <typename T>
T Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

void AppendElement(DType dtype, const char* at, std::string& out) {
  switch (dtype) {
    case DType::kUint8:
      out += fmt::to_string(int{Read<uint8_t>(at)});
      return;
    case DType::kInt8:
      out += fmt::to_string(int{Read<int8_t>(at)});
      return;
    case DType::kUint16:
      out += fmt::to_string(Read<uint16_t>(at));
      return;
    case DType::kInt16:
      out += fmt::to_string(Read<int16_t>(at));
      return;
    case DType::kUint32:
      out += fmt::to_string(Read<uint32_t>(at));
      return;
    case DType::kInt32:
      out += fmt::to_string(Read<int32_t>(at));
      return;
    case DType::kUint64:
      out += fmt::to_string(Read<uint64_t>(at));
      return;
    case DType::kInt64:
      out += fmt::to_string(Read<int64_t>(at));
      return;
    case DType::kFloat16:
      return AppendNumber(DoubleOfHalf(Read<uint16_t>(at)), out);
    case DType::kFloat32:
      return AppendNumber(Read<float>(at), out);
    case DType::kFloat64:
      return AppendNumber(Read<double>(at), out);
    case DType::kBool:
      out += Read<uint8_t>(at) != 0 ? "true" : "false";
      return;
  }
}

/// Dimension `axis` of an array, whose values `at` walks along.
void AppendArray(const Field& field, size_t axis, const char*& at, std::string& out) {
  if (axis == field.shape.size()) {
    AppendElement(field.dtype, at, out);
    at += BytesOf(field.dtype);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < field.shape[axis]; ++i) {
    out += i == 0 ? "" : ", ";
    AppendArray(field, axis + 1, at, out);
  }
  out += ']';
}

void AppendBase64Text(std::string_view bytes, std::string& out) {
  out += '"' + storage::Base64Encode(bytes) + '"';
}

void AppendField(const Field& field, std::string& out) {
  switch (field.kind) {
    case FieldKind::kNull:
      out += "null";
      return;
    case FieldKind::kBool:
      out += field.integer != 0 ? "true" : "false";
      return;
    case FieldKind::kInteger:
      out += fmt::to_string(field.integer);
      return;
    case FieldKind::kUnsigned:
      out += fmt::to_string(static_cast<uint64_t>(field.integer));
      return;
    case FieldKind::kNumber:
      return AppendNumber(field.number, out);
    case FieldKind::kText:
      return AppendPythonString(out, field.text);
    case FieldKind::kBytes:
      return AppendBase64Text(field.text, out);
    case FieldKind::kBigInteger:
    case FieldKind::kJson:
      out += field.text;
      return;
    case FieldKind::kArray: {
      const char* at = field.text.data();
      return AppendArray(field, 0, at, out);
    }
    case FieldKind::kList:
      out += '[';
      for (size_t i = 0; i < field.items.size(); ++i) {
        out += i == 0 ? "" : ", ";
        AppendBase64Text(field.items[i], out);
      }
      out += ']';
      return;
  }
}

}  // namespace

void AppendRowJson(std::span<const Column> columns, const Row& row, std::string& out) {
  out += '{';
  for (size_t i = 0; i < columns.size(); ++i) {
    out += i == 0 ? "" : ", ";
    AppendPythonString(out, columns[i].name);
    out += ": ";
    AppendField(row[i], out);
  }
  out += '}';
}

}  // namespace assay::shards
