// Thrift's compact protocol, the writing side: what Parquet's headers are made of.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

/// Fields are written in the order of their ids. What is begun is ended in turn.
class ThriftWriter {
 public:
  void I32(int16_t field, int32_t value);
  void I64(int16_t field, int64_t value);
  void Text(int16_t field, std::string_view text);

  void BeginStruct(int16_t field);
  void EndStruct();
  /// Structs in it are begun with BeginItem and ended with EndStruct.
  void BeginStructList(int16_t field, size_t size);
  void BeginItem();
  void I32List(int16_t field, const std::vector<int32_t>& values);
  void TextList(int16_t field, const std::vector<std::string>& texts);

  /// Ends the outermost struct.
  std::string Finish() &&;

 private:
  enum class Type : uint8_t { kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };

  void BeginField(int16_t field, Type type);
  void BeginList(int16_t field, Type of, size_t size);
  void Varint(uint64_t value);
  void ZigZag(int64_t value);
  void Bytes(std::string_view text);

  std::string out_;
  int16_t last_field_ = 0;
  std::vector<int16_t> outer_fields_;
};

}  // namespace assay::report
