// Values to bytes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "shards/format/encoding.h"
#include "shards/format/json_values.h"
#include "shards/format/python_text.h"

namespace assay::shards {
namespace {

Status Refuse(const Encoding& encoding, const Field& field) {
  return Status::InvalidArgument(fmt::format("it is {}, which {} does not hold", field.Describe(), encoding.name));
}

Status OutOfRange(const Encoding& encoding, std::string_view value) {
  return Status::InvalidArgument(fmt::format("{} is beyond the range of {}", value, encoding.name));
}

template <typename T>
void AppendRaw(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void AppendSize(std::string& out, size_t size) {
  AppendRaw(out, static_cast<uint32_t>(size));
}

template <typename T>
Status AppendInteger(const Encoding& encoding, const Field& field, std::string& out) {
  const bool fits = field.kind == FieldKind::kUnsigned ? std::is_same_v<T, uint64_t> : std::in_range<T>(field.integer);
  if (!fits) {
    return field.kind == FieldKind::kUnsigned
               ? OutOfRange(encoding, fmt::to_string(static_cast<uint64_t>(field.integer)))
               : OutOfRange(encoding, fmt::to_string(field.integer));
  }
  AppendRaw(out, static_cast<T>(field.integer));
  return Status::Ok();
}

Status AppendFloat(DType dtype, double value, std::string& out) {
  if (dtype == DType::kFloat64) {
    AppendRaw(out, value);
  } else if (dtype == DType::kFloat32) {
    AppendRaw(out, static_cast<float>(value));
  } else {
    AppendRaw(out, HalfOf(value));
  }
  return Status::Ok();
}

bool IsInteger(const Field& field) {
  return field.kind == FieldKind::kInteger || field.kind == FieldKind::kUnsigned || field.kind == FieldKind::kBool;
}

double NumberOf(const Field& field) {
  if (field.kind == FieldKind::kUnsigned) {
    return static_cast<double>(static_cast<uint64_t>(field.integer));
  }
  return field.kind == FieldKind::kNumber ? field.number : static_cast<double>(field.integer);
}

Status AppendScalar(const Encoding& encoding, const Field& field, std::string& out) {
  const DType dtype = *encoding.dtype;
  if (IsFloat(dtype) && (IsInteger(field) || field.kind == FieldKind::kNumber)) {
    return AppendFloat(dtype, NumberOf(field), out);
  }
  if (field.kind == FieldKind::kBigInteger && !IsFloat(dtype)) {
    return OutOfRange(encoding, field.text);
  }
  if (!IsInteger(field)) {
    return Refuse(encoding, field);
  }
  switch (dtype) {
    case DType::kUint8:
      return AppendInteger<uint8_t>(encoding, field, out);
    case DType::kInt8:
      return AppendInteger<int8_t>(encoding, field, out);
    case DType::kUint16:
      return AppendInteger<uint16_t>(encoding, field, out);
    case DType::kInt16:
      return AppendInteger<int16_t>(encoding, field, out);
    case DType::kUint32:
      return AppendInteger<uint32_t>(encoding, field, out);
    case DType::kInt32:
      return AppendInteger<int32_t>(encoding, field, out);
    case DType::kUint64:
      return AppendInteger<uint64_t>(encoding, field, out);
    default:
      return AppendInteger<int64_t>(encoding, field, out);
  }
}

Status AppendNumberText(const Encoding& encoding, const Field& field, std::string& out) {
  const bool wants_integer = encoding.kind == EncodingKind::kStrInt;
  if (field.kind == FieldKind::kBigInteger || (IsInteger(field) && encoding.kind != EncodingKind::kStrFloat)) {
    if (encoding.kind == EncodingKind::kStrFloat) {
      return OutOfRange(encoding, field.text);
    }
    out += field.kind == FieldKind::kBigInteger ? std::string(field.text)
           : field.kind == FieldKind::kUnsigned ? fmt::to_string(static_cast<uint64_t>(field.integer))
                                                : fmt::to_string(field.integer);
    return Status::Ok();
  }
  if (wants_integer) {
    return Refuse(encoding, field);
  }
  if (encoding.kind == EncodingKind::kStrDecimal) {
    const bool has_text = field.kind == FieldKind::kText || (field.kind == FieldKind::kNumber && !field.text.empty());
    return has_text ? AppendPythonDecimal(out, field.text) : Refuse(encoding, field);
  }
  if (field.kind != FieldKind::kNumber && !IsInteger(field)) {
    return Refuse(encoding, field);
  }
  AppendPythonFloat(out, NumberOf(field));
  return Status::Ok();
}

Status AppendJson(const Encoding& encoding, const Field& field, std::string& out) {
  switch (field.kind) {
    case FieldKind::kNull:
      out += "null";
      return Status::Ok();
    case FieldKind::kBool:
      out += field.integer != 0 ? "true" : "false";
      return Status::Ok();
    case FieldKind::kInteger:
      out += fmt::to_string(field.integer);
      return Status::Ok();
    case FieldKind::kUnsigned:
      out += fmt::to_string(static_cast<uint64_t>(field.integer));
      return Status::Ok();
    case FieldKind::kBigInteger:
      out += field.text;
      return Status::Ok();
    case FieldKind::kNumber:
      if (!std::isfinite(field.number)) {
        out += std::isnan(field.number) ? "NaN" : field.number > 0 ? "Infinity" : "-Infinity";
      } else {
        AppendPythonFloat(out, field.number);
      }
      return Status::Ok();
    case FieldKind::kText:
      AppendPythonString(out, field.text);
      return Status::Ok();
    case FieldKind::kJson:
      return AppendPythonJson(out, field.text);
    default:
      return Refuse(encoding, field);
  }
}

/// What stands before the values of an array: its type and shape, as far as the column does not say them.
Status AppendArrayHead(const Encoding& encoding, DType dtype, std::span<const int64_t> shape, std::string& out) {
  const auto refuse = [&](std::string_view why) {
    return Status::InvalidArgument(fmt::format("{} does not hold the array: {}", encoding.name, why));
  };
  if (encoding.dtype && *encoding.dtype != dtype) {
    return refuse(fmt::format("its numbers are {}", NameOf(dtype)));
  }
  if (!MdsCodeOf(dtype)) {
    return refuse(fmt::format("MDS has no arrays of {}", NameOf(dtype)));
  }
  if (shape.empty() || shape.size() > 63 || std::ranges::min(shape) < 1) {
    return refuse("an array has 1 to 63 dimensions, and at least one number");
  }
  if (!encoding.dtype) {
    out += static_cast<char>(*MdsCodeOf(dtype));
  }
  if (!encoding.shape.empty()) {
    return std::ranges::equal(encoding.shape, shape) ? Status::Ok() : refuse("its shape is another");
  }
  const int64_t largest = std::ranges::max(shape);
  const int width = largest < 256 ? 0 : largest < 65536 ? 1 : largest <= UINT32_MAX ? 2 : 3;
  out += static_cast<char>((shape.size() << 2) | static_cast<size_t>(width));
  for (const int64_t size : shape) {
    out.append(reinterpret_cast<const char*>(&size), size_t{1} << width);
  }
  return Status::Ok();
}

Status AppendArray(const Encoding& encoding, const Field& field, std::string& out) {
  if (field.kind == FieldKind::kArray) {
    ASSAY_RETURN_IF_ERROR(AppendArrayHead(encoding, field.dtype, field.shape, out));
    out += field.text;
    return Status::Ok();
  }
  if (field.kind != FieldKind::kJson || !field.text.starts_with('[')) {
    return Refuse(encoding, field);
  }
  ASSAY_ASSIGN_OR_RETURN(const JsonArray array, ReadJsonArray(field.text));
  const DType dtype = encoding.dtype.value_or(array.has_fraction ? DType::kFloat64 : DType::kInt64);
  ASSAY_RETURN_IF_ERROR(AppendArrayHead(encoding, dtype, array.shape, out));
  Encoding of_number = encoding;
  of_number.dtype = dtype;
  for (const Field& number : array.numbers) {
    ASSAY_RETURN_IF_ERROR(AppendScalar(of_number, number, out));
  }
  return Status::Ok();
}

Status AppendFiles(const Encoding& encoding, const Field& field, std::string& out) {
  std::vector<std::string> owned;
  std::vector<std::string_view> items = field.items;
  if (field.kind == FieldKind::kJson) {
    ASSAY_ASSIGN_OR_RETURN(owned, ReadJsonBase64List(field.text));
    items.assign(owned.begin(), owned.end());
  } else if (field.kind != FieldKind::kList) {
    return Refuse(encoding, field);
  }
  if (encoding.kind == EncodingKind::kList) {
    AppendSize(out, 0);
  }
  AppendSize(out, items.size());
  for (const std::string_view item : items) {
    AppendSize(out, item.size());
  }
  for (const std::string_view item : items) {
    out += item;
  }
  return Status::Ok();
}

Status AppendValue(const Encoding& encoding, const Field& field, std::string& out) {
  using Of = EncodingKind;
  switch (encoding.kind) {
    case Of::kStr:
      if (field.kind != FieldKind::kText) {
        return Refuse(encoding, field);
      }
      out += field.text;
      return Status::Ok();
    case Of::kScalar:
      return AppendScalar(encoding, field, out);
    case Of::kStrInt:
    case Of::kStrFloat:
    case Of::kStrDecimal:
      return AppendNumberText(encoding, field, out);
    case Of::kJson:
      return AppendJson(encoding, field, out);
    case Of::kNdarray:
      return AppendArray(encoding, field, out);
    case Of::kJpegArray:
    case Of::kList:
      return AppendFiles(encoding, field, out);
    case Of::kBytes:
    case Of::kPil:
      break;
  }
  return field.kind == FieldKind::kText ? AppendBase64(field.text, out) : Refuse(encoding, field);
}

}  // namespace

Status EncodeField(const Encoding& encoding, const Field& field, std::string& out) {
  if (field.kind != FieldKind::kBytes) {
    return AppendValue(encoding, field, out);
  }
  if (encoding.fixed_bytes && *encoding.fixed_bytes != field.text.size()) {
    return Status::InvalidArgument(
        fmt::format("it has {} bytes, and {} takes {}", field.text.size(), encoding.name, *encoding.fixed_bytes));
  }
  out += field.text;
  return Status::Ok();
}

}  // namespace assay::shards
