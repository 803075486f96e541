#include "report/export/thrift.h"

#include <utility>

namespace assay::report {

void ThriftWriter::Varint(uint64_t value) {
  while (value >= 0x80) {
    out_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out_ += static_cast<char>(value);
}

void ThriftWriter::ZigZag(int64_t value) {
  Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

void ThriftWriter::Bytes(std::string_view text) {
  Varint(text.size());
  out_ += text;
}

void ThriftWriter::BeginField(int16_t field, Type type) {
  const int delta = field - last_field_;
  constexpr int kLargestDelta = 15;
  if (delta > 0 && delta <= kLargestDelta) {
    out_ += static_cast<char>(delta << 4 | static_cast<int>(type));
  } else {
    out_ += static_cast<char>(type);
    ZigZag(field);
  }
  last_field_ = field;
}

void ThriftWriter::I32(int16_t field, int32_t value) {
  BeginField(field, Type::kI32);
  ZigZag(value);
}

void ThriftWriter::I64(int16_t field, int64_t value) {
  BeginField(field, Type::kI64);
  ZigZag(value);
}

void ThriftWriter::Text(int16_t field, std::string_view text) {
  BeginField(field, Type::kBinary);
  Bytes(text);
}

void ThriftWriter::BeginStruct(int16_t field) {
  BeginField(field, Type::kStruct);
  BeginItem();
}

void ThriftWriter::BeginItem() {
  outer_fields_.push_back(std::exchange(last_field_, 0));
}

void ThriftWriter::EndStruct() {
  out_ += '\0';
  last_field_ = outer_fields_.back();
  outer_fields_.pop_back();
}

void ThriftWriter::BeginList(int16_t field, Type of, size_t size) {
  BeginField(field, Type::kList);
  constexpr size_t kLargestShort = 14;
  const bool is_short = size <= kLargestShort;
  out_ += static_cast<char>((is_short ? size : kLargestShort + 1) << 4 | static_cast<size_t>(of));
  if (!is_short) {
    Varint(size);
  }
}

void ThriftWriter::BeginStructList(int16_t field, size_t size) {
  BeginList(field, Type::kStruct, size);
}

void ThriftWriter::I32List(int16_t field, const std::vector<int32_t>& values) {
  BeginList(field, Type::kI32, values.size());
  for (const int32_t value : values) {
    ZigZag(value);
  }
}

void ThriftWriter::TextList(int16_t field, const std::vector<std::string>& texts) {
  BeginList(field, Type::kBinary, texts.size());
  for (const std::string& text : texts) {
    Bytes(text);
  }
}

std::string ThriftWriter::Finish() && {
  out_ += '\0';
  return std::move(out_);
}

}  // namespace assay::report
