#include "shards/format/litdata.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "shards/format/litdata_leaf.h"
#include "shards/format/shard_layout.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kFramedMagic("LDFZ01\0\0", 8);

template <typename T>
T WordAt(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

Status Damaged(std::string_view what) {
  return Status::InvalidArgument(fmt::format("the chunk is damaged: {}", what));
}

std::optional<DType> TypeBehindColon(std::string_view format, std::optional<DType> (*type)(uint32_t)) {
  const std::string_view number = format.substr(std::min(format.find(':'), format.size() - 1) + 1);
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  return error == std::errc() && end == number.data() + number.size() ? type(index) : std::nullopt;
}

/// Samples put one behind the other, each of a size that is known before.
class ChunkBuilder {
 public:
  ChunkBuilder(size_t samples, uint64_t bytes)
      : head_(static_cast<size_t>(OffsetTableBytes(static_cast<int64_t>(samples)))) {
    chunk_.reserve(head_ + bytes);
    chunk_.resize(head_);
    Put(0, samples);
    Put(1, head_);
  }
  std::span<std::byte> Grow(size_t bytes) {
    chunk_.resize(chunk_.size() + bytes);
    return std::span(chunk_).last(bytes);
  }
  /// Sample `index` ends `end` bytes behind the first one's beginning.
  void End(size_t index, uint64_t end) { Put(index + 2, head_ + end); }
  void EndHere(size_t index) { Put(index + 2, chunk_.size()); }
  std::vector<std::byte> Take() { return std::move(chunk_); }

 private:
  void Put(size_t word, uint64_t value) {
    const auto narrow = static_cast<uint32_t>(value);
    std::memcpy(chunk_.data() + word * sizeof(narrow), &narrow, sizeof(narrow));
  }

  size_t head_;
  std::vector<std::byte> chunk_;
};

Status Unzip(Bytes packed, std::span<std::byte> raw) {
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), packed.data(), packed.size());
  return ZSTD_isError(size) == 0 && size == raw.size() ? Status::Ok()
                                                       : Damaged("a frame of zstd is not what it should be");
}

/// Frames of many samples each, behind a table of both.
Result<std::vector<std::byte>> UnpackFrames(Bytes file) {
  constexpr size_t kPrefix = 24;
  constexpr size_t kFrame = 24;
  if (file.size() < kPrefix || std::memcmp(file.data(), kFramedMagic.data(), kFramedMagic.size()) != 0) {
    return Damaged("it does not begin as frames do");
  }
  const size_t samples = WordAt<uint32_t>(file, 12);
  const size_t frames = WordAt<uint32_t>(file, 20);
  const size_t table = kPrefix + sizeof(uint32_t) * (samples + 1);
  if (file.size() < table + kFrame * frames) {
    return Damaged("its tables are cut short");
  }
  const uint64_t total = WordAt<uint32_t>(file, table - sizeof(uint32_t));
  // Frames hold few bytes for many; what they come to is believed only as far as zstd could.
  if (total > UINT32_MAX - 4 * (samples + 2)) {
    return Damaged("it would come to 4 GiB and more");
  }
  uint64_t unpacked = 0;
  for (size_t i = 0; i < frames; ++i) {
    unpacked += WordAt<uint32_t>(file, table + i * kFrame + 20);
  }
  if (unpacked != total) {
    return Damaged("its frames come to another size than its samples");
  }
  ChunkBuilder builder(samples, total);
  for (size_t i = 0; i < samples; ++i) {
    builder.End(i, WordAt<uint32_t>(file, kPrefix + sizeof(uint32_t) * (i + 1)));
  }
  for (size_t i = 0; i < frames; ++i) {
    const size_t at = table + i * kFrame;
    const auto offset = WordAt<uint64_t>(file, at + 8);
    const uint64_t size = WordAt<uint32_t>(file, at + 16);
    if (offset > file.size() || size > file.size() - offset) {
      return Damaged("a frame lies behind its end");
    }
    ASSAY_RETURN_IF_ERROR(Unzip(file.subspan(offset, size), builder.Grow(WordAt<uint32_t>(file, at + 20))));
  }
  return builder.Take();
}

/// A frame a sample.
Result<std::vector<std::byte>> UnpackSamples(Bytes file) {
  constexpr uint64_t kMost = UINT32_MAX;
  const int64_t samples = file.size() < sizeof(uint32_t) ? 0 : WordAt<uint32_t>(file, 0);
  ASSAY_ASSIGN_OR_RETURN(const Offsets offsets,
                         ReadOffsets(file, samples, static_cast<uint64_t>(OffsetTableBytes(samples)), file.size()));
  uint64_t total = 0;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const uint64_t size = ZSTD_getFrameContentSize(file.data() + offsets[i], offsets[i + 1] - offsets[i]);
    if (size > kMost || (total += size) > kMost) {
      return Damaged("a sample does not tell its size, or they come to 4 GiB and more");
    }
  }
  ChunkBuilder builder(static_cast<size_t>(samples), total);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const Bytes packed = file.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    ASSAY_RETURN_IF_ERROR(Unzip(packed, builder.Grow(ZSTD_getFrameContentSize(packed.data(), packed.size()))));
    builder.EndHere(i);
  }
  return builder.Take();
}

/// u32 type, u32 dimensions, u32 size[dimensions], numbers; of tensors big-endian but for the numbers.
Status ReadLeafArray(Bytes bytes, bool big_endian, std::optional<DType> (*type)(uint32_t), Field& field) {
  const auto word = [&](size_t i) {
    const auto value = WordAt<uint32_t>(bytes, i * sizeof(uint32_t));
    return big_endian ? __builtin_bswap32(value) : value;
  };
  const auto refuse = [] { return Status::InvalidArgument("the array is cut short, or of numbers that are not read"); };
  if (bytes.size() < 2 * sizeof(uint32_t) || bytes.size() / sizeof(uint32_t) - 2 < word(1)) {
    return refuse();
  }
  const size_t dimensions = word(1);
  const std::optional<DType> dtype = type(word(0));
  if (!dtype) {
    return refuse();
  }
  field.shape.clear();
  const Bytes numbers = bytes.subspan(sizeof(uint32_t) * (dimensions + 2));
  unsigned __int128 size = BytesOf(*dtype);
  for (size_t i = 0; i < dimensions && size <= UINT32_MAX; ++i) {
    field.shape.push_back(word(i + 2));
    size *= word(i + 2);
  }
  if (size != numbers.size()) {
    return refuse();
  }
  field.dtype = *dtype;
  field.SetText(FieldKind::kArray, {reinterpret_cast<const char*>(numbers.data()), numbers.size()});
  return Status::Ok();
}

Status DecodeLeaf(const Encoding& leaf, Bytes bytes, Field& field) {
  const std::string_view chars(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (leaf.kind == EncodingKind::kJson) {  // newer versions have a form of their own, which is given as bytes
    const bool is_text = chars.starts_with('{') || chars.starts_with('[');
    field.SetText(is_text ? FieldKind::kJson : FieldKind::kBytes, chars);
    return Status::Ok();
  }
  if (leaf.kind != EncodingKind::kNdarray) {
    return DecodeField(leaf, bytes, field);
  }
  if (leaf.name == "tensor") {
    return ReadLeafArray(bytes, true, &LitdataTorchType, field);
  }
  if (leaf.name == "numpy") {
    return ReadLeafArray(bytes, false, &LitdataNumpyType, field);
  }
  if (bytes.size() % BytesOf(*leaf.dtype) != 0) {
    return Status::InvalidArgument("its bytes are no whole numbers");
  }
  field.dtype = *leaf.dtype;
  field.shape = {static_cast<int64_t>(bytes.size() / BytesOf(*leaf.dtype))};
  field.SetText(FieldKind::kArray, chars);
  return Status::Ok();
}

}  // namespace

std::optional<DType> LitdataTorchType(uint32_t index) {
  switch (index) {
    case 0:
    case 1:
      return DType::kFloat32;
    case 2:
    case 3:
      return DType::kFloat64;
    case 8:
    case 9:
      return DType::kFloat16;
    case 11:
      return DType::kUint8;
    case 12:
      return DType::kInt8;
    case 13:
    case 14:
      return DType::kInt16;
    case 15:
    case 16:
      return DType::kInt32;
    case 17:
    case 18:
      return DType::kInt64;
    case 19:
      return DType::kBool;
    case 20:
      return DType::kUint16;
    default:
      return std::nullopt;
  }
}

std::optional<DType> LitdataNumpyType(uint32_t index) {
  constexpr DType kTypes[] = {DType::kInt8,    DType::kInt16,   DType::kInt32,  DType::kInt64,
                              DType::kUint8,   DType::kUint16,  DType::kUint32, DType::kUint64,
                              DType::kFloat16, DType::kFloat32, DType::kFloat64};
  return index < std::size(kTypes) ? std::optional(kTypes[index]) : std::nullopt;
}

Result<Encoding> LitdataLeaf(std::string_view format) {
  const std::string_view base = format.substr(0, format.find(':'));
  Encoding leaf{.name = std::string(format)};
  if (base == "str" || base == "text") {
    leaf.kind = EncodingKind::kStr;
  } else if (base == "int" || base == "float" || base == "bool") {
    leaf.kind = EncodingKind::kScalar;
    leaf.dtype = base == "int" ? DType::kInt64 : base == "float" ? DType::kFloat64 : DType::kBool;
    leaf.fixed_bytes = static_cast<uint32_t>(BytesOf(*leaf.dtype));
  } else if (base == "tensor" || base == "numpy") {
    leaf.kind = EncodingKind::kNdarray;
  } else if (base == "no_header_tensor" || base == "no_header_numpy") {
    leaf.kind = EncodingKind::kNdarray;
    leaf.dtype = TypeBehindColon(format, base == "no_header_tensor" ? &LitdataTorchType : &LitdataNumpyType);
    if (!leaf.dtype) {
      return Status::Unsupported(fmt::format("numbers of '{}' are not read", format));
    }
  } else if (base == "json") {
    leaf.kind = EncodingKind::kJson;
  } else if (base == "pil") {
    leaf.kind = EncodingKind::kPil;
  } else if (base == "jpeg_array") {
    leaf.kind = EncodingKind::kJpegArray;
  } else if (base == "pickle" || base == "graph") {
    return Status::Unsupported(fmt::format("'{}' is not read: it runs whatever program it holds", format));
  }
  return leaf;
}

bool IsPackedLitdata(const ShardSchema& schema) {
  return schema.packing == "batch" || schema.packing == "sample";
}

Result<std::vector<std::byte>> UnpackLitdata(const ShardSchema& schema, Bytes file) {
  return schema.packing == "batch" ? UnpackFrames(file) : UnpackSamples(file);
}

Status DecodeLitdata(const ShardSchema& schema, Bytes sample, Row& row, std::string& scratch) {
  const size_t leaves = schema.columns.size();
  size_t at = leaves * sizeof(uint32_t);
  if (sample.size() < at) {
    return Status::InvalidArgument("the sample is cut short");
  }
  for (size_t i = 0; i < leaves; ++i) {
    const size_t size = WordAt<uint32_t>(sample, i * sizeof(uint32_t));
    if (size > sample.size() - at) {
      return Status::InvalidArgument(fmt::format("'{}' ends behind the sample", schema.columns[i].name));
    }
    if (const Status decoded = DecodeLeaf(schema.columns[i].encoding, sample.subspan(at, size), row[i]);
        !decoded.ok()) {
      return decoded.WithContext(fmt::format("'{}'", schema.columns[i].name));
    }
    at += size;
  }
  return Status::Ok();
}

}  // namespace assay::shards
