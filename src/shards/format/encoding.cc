#include "shards/format/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace assay::shards {
namespace {

struct EncodingRow {
  std::string_view name;
  EncodingKind kind;
  std::optional<DType> dtype = std::nullopt;
};

constexpr EncodingRow kEncodings[] = {
    {"bytes", EncodingKind::kBytes},
    {"str", EncodingKind::kStr},
    {"int", EncodingKind::kScalar, DType::kInt64},
    {"ndarray", EncodingKind::kNdarray},
    {"uint8", EncodingKind::kScalar, DType::kUint8},
    {"uint16", EncodingKind::kScalar, DType::kUint16},
    {"uint32", EncodingKind::kScalar, DType::kUint32},
    {"uint64", EncodingKind::kScalar, DType::kUint64},
    {"int8", EncodingKind::kScalar, DType::kInt8},
    {"int16", EncodingKind::kScalar, DType::kInt16},
    {"int32", EncodingKind::kScalar, DType::kInt32},
    {"int64", EncodingKind::kScalar, DType::kInt64},
    {"float16", EncodingKind::kScalar, DType::kFloat16},
    {"float32", EncodingKind::kScalar, DType::kFloat32},
    {"float64", EncodingKind::kScalar, DType::kFloat64},
    {"str_int", EncodingKind::kStrInt},
    {"str_float", EncodingKind::kStrFloat},
    {"str_decimal", EncodingKind::kStrDecimal},
    {"pil", EncodingKind::kPil},
    {"jpeg", EncodingKind::kBytes},
    {"png", EncodingKind::kBytes},
    {"jpeg_array", EncodingKind::kJpegArray},
    {"jpegarray", EncodingKind::kJpegArray},
    {"list[pil]", EncodingKind::kList},
    {"list[jpeg]", EncodingKind::kList},
    {"list[png]", EncodingKind::kList},
    {"json", EncodingKind::kJson},
};

Status UnknownEncoding(std::string_view name) {
  if (name == "pkl") {
    return Status::Unsupported("the encoding 'pkl' is not read or written: a pickle runs whatever program it holds");
  }
  std::vector<std::string> known;
  for (const EncodingRow& row : kEncodings) {
    known.emplace_back(row.name);
  }
  const std::string nearest = NearestName(name, known);
  return Status::InvalidArgument(fmt::format("there is no encoding '{}'{}", name,
                                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

/// Of "ndarray:int32:2,3" what stands behind the first colon.
Status ReadArrayType(std::string_view type, Encoding& encoding) {
  const auto refuse = [&](std::string_view why) {
    return Status::InvalidArgument(fmt::format("the encoding '{}': {}", encoding.name, why));
  };
  const std::vector<std::string> parts = Split(type, ':');
  if (parts.empty() || parts.size() > 2) {
    return refuse("write ndarray, ndarray:TYPE or ndarray:TYPE:SIZE,SIZE");
  }
  encoding.dtype = ParseDType(parts[0]);
  if (!encoding.dtype || !MdsCodeOf(*encoding.dtype)) {
    return refuse(fmt::format("MDS has no arrays of '{}'", parts[0]));
  }
  if (parts.size() == 1) {
    return Status::Ok();
  }
  int64_t bytes = static_cast<int64_t>(BytesOf(*encoding.dtype));
  for (const std::string& part : Split(parts[1], ',')) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1 || bytes > UINT32_MAX / size) {
      return refuse("a shape holds sizes of 1 and more, of less than 4 GiB together");
    }
    bytes *= size;
    encoding.shape.push_back(size);
  }
  encoding.fixed_bytes = static_cast<uint32_t>(bytes);
  return Status::Ok();
}

}  // namespace

Result<Encoding> Encoding::Parse(std::string_view name) {
  const std::string_view base = name.substr(0, name.find(':'));
  const auto row = std::ranges::find(kEncodings, base, &EncodingRow::name);
  if (row == std::end(kEncodings)) {
    return UnknownEncoding(base);
  }
  Encoding encoding{.name = std::string(name), .kind = row->kind, .dtype = row->dtype};
  if (base.size() < name.size()) {
    if (row->kind != EncodingKind::kNdarray) {
      return Status::InvalidArgument(fmt::format("the encoding '{}': {} takes nothing behind a colon", name, base));
    }
    ASSAY_RETURN_IF_ERROR(ReadArrayType(name.substr(base.size() + 1), encoding));
  } else if (row->kind == EncodingKind::kScalar) {
    encoding.fixed_bytes = static_cast<uint32_t>(BytesOf(*row->dtype));
  }
  return encoding;
}

Result<std::vector<Column>> ParseColumns(std::string_view text) {
  std::vector<Column> columns;
  std::string pending;
  const std::vector<std::string> parts = Split(text, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    pending += (pending.empty() ? "" : ",") + parts[i];
    const bool shape_goes_on = i + 1 < parts.size() && !parts[i + 1].empty() &&
                               std::ranges::all_of(parts[i + 1], [](unsigned char c) { return std::isdigit(c) != 0; });
    if (shape_goes_on) {
      continue;
    }
    const size_t colon = pending.find(':');
    if (colon == std::string::npos || colon == 0) {
      return Status::InvalidArgument(fmt::format("'{}' is not NAME:ENCODING: write text:str,label:int", pending));
    }
    ASSAY_ASSIGN_OR_RETURN(Encoding encoding, Encoding::Parse(std::string_view(pending).substr(colon + 1)));
    columns.push_back({pending.substr(0, colon), std::move(encoding)});
    pending.clear();
  }
  std::ranges::sort(columns, {}, &Column::name);
  for (size_t i = 1; i < columns.size(); ++i) {
    if (columns[i].name == columns[i - 1].name) {
      return Status::InvalidArgument(fmt::format("the column '{}' is named twice", columns[i].name));
    }
  }
  return columns;
}

}  // namespace assay::shards
