// Bytes to values.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/utf8.h"
#include "shards/format/encoding.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

Status NotA(const Encoding& encoding, std::string_view why) {
  return Status::InvalidArgument(fmt::format("no {}: {}", encoding.name, why));
}

std::string_view TextOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
T ReadRaw(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

void ReadScalar(DType dtype, Bytes bytes, Field& field) {
  switch (dtype) {
    case DType::kUint8:
      return field.SetInteger(ReadRaw<uint8_t>(bytes));
    case DType::kInt8:
      return field.SetInteger(ReadRaw<int8_t>(bytes));
    case DType::kUint16:
      return field.SetInteger(ReadRaw<uint16_t>(bytes));
    case DType::kInt16:
      return field.SetInteger(ReadRaw<int16_t>(bytes));
    case DType::kUint32:
      return field.SetInteger(ReadRaw<uint32_t>(bytes));
    case DType::kInt32:
      return field.SetInteger(ReadRaw<int32_t>(bytes));
    case DType::kUint64:
      return field.SetUnsigned(ReadRaw<uint64_t>(bytes));
    case DType::kInt64:
      return field.SetInteger(ReadRaw<int64_t>(bytes));
    case DType::kFloat16:
      return field.SetNumber(DoubleOfHalf(ReadRaw<uint16_t>(bytes)));
    case DType::kFloat32:
      return field.SetNumber(ReadRaw<float>(bytes));
    case DType::kFloat64:
      return field.SetNumber(ReadRaw<double>(bytes));
    case DType::kBool:
      return field.SetBool(ReadRaw<uint8_t>(bytes) != 0);
  }
}

/// Digits with at most one sign in front.
bool IsDigits(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Status ReadNumberText(const Encoding& encoding, std::string_view text, Field& field) {
  field.SetText(FieldKind::kText, text);
  if (encoding.kind == EncodingKind::kStrDecimal) {
    return IsUtf8(text) ? Status::Ok() : NotA(encoding, "it is no UTF-8");
  }
  const char* end = text.data() + text.size();
  if (encoding.kind == EncodingKind::kStrInt) {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (!IsDigits(text)) {
      return NotA(encoding, "it holds other characters than digits");
    }
    error == std::errc() ? field.SetInteger(value) : field.SetText(FieldKind::kBigInteger, text);
    return Status::Ok();
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    return NotA(encoding, "it is no number");
  }
  field.SetNumber(value);
  return Status::Ok();
}

/// Takes `size` bytes off the front; nothing where there are fewer.
std::optional<Bytes> Take(Bytes& bytes, size_t size) {
  if (bytes.size() < size) {
    return std::nullopt;
  }
  const Bytes taken = bytes.first(size);
  bytes = bytes.subspan(size);
  return taken;
}

Status ReadArray(const Encoding& encoding, Bytes bytes, Field& field) {
  std::optional<DType> dtype = encoding.dtype;
  if (!dtype) {
    const auto code = Take(bytes, 1);
    dtype = code ? DTypeOfMdsCode(ReadRaw<uint8_t>(*code)) : std::nullopt;
    if (!dtype) {
      return NotA(encoding, "its type of numbers is none");
    }
  }
  field.shape = encoding.shape;
  if (encoding.shape.empty()) {
    const auto head = Take(bytes, 1);
    const unsigned packed = head ? ReadRaw<uint8_t>(*head) : 0;
    const size_t width = size_t{1} << (packed & 3);
    const auto sizes = Take(bytes, (packed >> 2) * width);
    if (!sizes || packed >> 2 == 0) {
      return NotA(encoding, "its shape is cut short");
    }
    for (size_t i = 0; i < sizes->size(); i += width) {
      uint64_t size = 0;
      std::memcpy(&size, sizes->data() + i, width);
      field.shape.push_back(static_cast<int64_t>(size));
    }
  }
  uint64_t left = bytes.size();  // divided by every size: what is left is one number
  for (const int64_t size : field.shape) {
    const auto whole = static_cast<uint64_t>(size);
    if (whole == 0 || left % whole != 0) {
      return NotA(encoding, "its numbers do not fill its shape");
    }
    left /= whole;
  }
  if (left != BytesOf(*dtype)) {
    return NotA(encoding, "its numbers do not fill its shape");
  }
  field.dtype = *dtype;
  field.SetText(FieldKind::kArray, TextOf(bytes));
  return Status::Ok();
}

Status ReadFiles(const Encoding& encoding, Bytes bytes, Field& field) {
  if (encoding.kind == EncodingKind::kList && !Take(bytes, sizeof(uint32_t))) {
    return NotA(encoding, "it is cut short");
  }
  const auto count = Take(bytes, sizeof(uint32_t));
  const auto sizes = count ? Take(bytes, sizeof(uint32_t) * ReadRaw<uint32_t>(*count)) : std::nullopt;
  if (!sizes) {
    return NotA(encoding, "it is cut short");
  }
  field.items.clear();
  for (size_t i = 0; i < sizes->size(); i += sizeof(uint32_t)) {
    const auto item = Take(bytes, ReadRaw<uint32_t>(sizes->subspan(i)));
    if (!item) {
      return NotA(encoding, "its files are longer than it is");
    }
    field.items.push_back(TextOf(*item));
  }
  field.kind = FieldKind::kList;
  return bytes.empty() ? Status::Ok() : NotA(encoding, "it goes on behind its last file");
}

/// Width, height and length of the mode's name, then the pixels: how many depends on the mode, which is not ours to
/// say.
Status CheckPil(const Encoding& encoding, Bytes bytes) {
  Bytes rest = bytes;
  const auto head = Take(rest, 3 * sizeof(uint32_t));
  return head && Take(rest, ReadRaw<uint32_t>(head->subspan(2 * sizeof(uint32_t)))) ? Status::Ok()
                                                                                    : NotA(encoding, "it is cut short");
}

}  // namespace

Status DecodeField(const Encoding& encoding, Bytes bytes, Field& field) {
  using Of = EncodingKind;
  if (encoding.fixed_bytes && *encoding.fixed_bytes != bytes.size()) {
    return NotA(encoding, fmt::format("it has {} bytes in place of {}", bytes.size(), *encoding.fixed_bytes));
  }
  switch (encoding.kind) {
    case Of::kStr:
      field.SetText(FieldKind::kText, TextOf(bytes));
      return IsUtf8(field.text) ? Status::Ok() : NotA(encoding, "it is no UTF-8");
    case Of::kScalar:
      ReadScalar(*encoding.dtype, bytes, field);
      return Status::Ok();
    case Of::kStrInt:
    case Of::kStrFloat:
    case Of::kStrDecimal:
      return ReadNumberText(encoding, TextOf(bytes), field);
    case Of::kJson:
      field.SetText(FieldKind::kJson, TextOf(bytes));
      return Status::Ok();
    case Of::kNdarray:
      return ReadArray(encoding, bytes, field);
    case Of::kJpegArray:
    case Of::kList:
      return ReadFiles(encoding, bytes, field);
    case Of::kPil:
      ASSAY_RETURN_IF_ERROR(CheckPil(encoding, bytes));
      break;
    case Of::kBytes:
      break;
  }
  field.SetText(FieldKind::kBytes, TextOf(bytes));
  return Status::Ok();
}

}  // namespace assay::shards
