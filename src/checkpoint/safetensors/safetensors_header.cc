#include "checkpoint/safetensors/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json_depth.h"
#include "checkpoint/file/file_layout.h"

namespace assay::checkpoint {
namespace {

/// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kDataAlignment = 64;
constexpr char kMetadataKey[] = "__metadata__";

class HeaderParser {
 public:
  HeaderParser(const std::string& uri, int64_t file_bytes) : uri_(uri), file_bytes_(file_bytes) {}

  Result<SafetensorsHeader> Run(std::string_view text, int64_t data_begin);

 private:
  Status Fail(const std::string& message) const {
    return Status::InvalidArgument(
        fmt::format("{}: {}; the file is damaged or not safetensors, fetch or write it again", uri_, message));
  }
  Status FailTensor(std::string_view name, const std::string& message) const {
    return Status::InvalidArgument(fmt::format("{}: tensor '{}' {}", uri_, name, message));
  }

  Result<nlohmann::json> ParseJson(std::string_view text) const;
  Result<SafetensorsEntry> ReadEntry(const std::string& name, const nlohmann::json& value) const;
  Result<Sizes> ReadSizes(const std::string& name, const nlohmann::json& value, std::string_view key) const;
  Status ReadMetadata(const nlohmann::json& value);
  Status CheckLayout() const;

  const std::string& uri_;
  const int64_t file_bytes_;
  SafetensorsHeader header_;
};

/// nlohmann keeps the last of two equal keys, so a callback looks for the second.
Result<nlohmann::json> HeaderParser::ParseJson(std::string_view text) const {
  if (IsNestedTooDeep(text)) {
    return Fail("its header nests lists and objects too deep");
  }
  std::set<std::string> names;
  std::string duplicate;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1 && !names.insert(parsed.get<std::string>()).second) {
      duplicate = parsed.get<std::string>();
    }
    return true;
  };
  nlohmann::json header = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  if (!header.is_object()) {
    return Fail("its header is not a JSON object");
  }
  if (!duplicate.empty()) {
    return FailTensor(duplicate, "is listed twice in the header");
  }
  return header;
}

/// The list of non-negative integers under `key`.
Result<Sizes> HeaderParser::ReadSizes(const std::string& name, const nlohmann::json& value,
                                      std::string_view key) const {
  const auto it = value.find(key);
  const auto is_size = [](const nlohmann::json& item) {
    return item.is_number_unsigned() && item.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  };
  if (it == value.end() || !it->is_array() || !std::ranges::all_of(*it, is_size)) {
    return FailTensor(name, fmt::format("has no {} of non-negative integers", key));
  }
  return it->get<Sizes>();
}

Result<SafetensorsEntry> HeaderParser::ReadEntry(const std::string& name, const nlohmann::json& value) const {
  if (!value.is_object()) {
    return FailTensor(name, "is not described by a JSON object");
  }
  const auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string()) {
    return FailTensor(name, "has no dtype");
  }
  const DTypeInfo* info = FindDTypeOfSafetensors(dtype->get<std::string>());
  if (info == nullptr) {
    return FailTensor(name, fmt::format("has the unknown dtype '{}'", dtype->get<std::string>()));
  }
  SafetensorsEntry entry = {.name = name, .dtype = info->dtype};
  ASSAY_ASSIGN_OR_RETURN(entry.shape, ReadSizes(name, value, "shape"));
  ASSAY_ASSIGN_OR_RETURN(const Sizes offsets, ReadSizes(name, value, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return FailTensor(name, "has data_offsets that are not a [begin, end] pair");
  }
  const int64_t data_bytes = file_bytes_ - header_.data_begin;
  if (offsets[1] > data_bytes) {
    return FailTensor(name, fmt::format("ends at byte {} of the data, but the file has only {}: it is truncated or "
                                        "damaged",
                                        offsets[1], data_bytes));
  }
  if (info->dtype == DType::kFloat4E2M1FnX2) {
    if (entry.shape.empty() || entry.shape.back() % 2 != 0) {
      return FailTensor(name, "has an odd number of 4-bit elements in a row, which torch has no type for");
    }
    entry.shape.back() /= 2;
  }
  const std::optional<int64_t> elements = Elements(entry.shape);
  int64_t expected = 0;
  if (!elements || __builtin_mul_overflow(*elements, ElementBytes(info->dtype), &expected)) {
    return FailTensor(name, fmt::format("has an impossible shape {}", ShapeText(entry.shape)));
  }
  if (offsets[1] - offsets[0] != expected) {
    return FailTensor(name, fmt::format("takes {} bytes, but {} {} needs {}", offsets[1] - offsets[0],
                                        info->safetensors, ShapeText(entry.shape), expected));
  }
  entry.begin = header_.data_begin + offsets[0];
  entry.end = header_.data_begin + offsets[1];
  return entry;
}

Status HeaderParser::ReadMetadata(const nlohmann::json& value) {
  if (!value.is_object()) {
    return Fail("its __metadata__ is not a JSON object");
  }
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return Fail(fmt::format("its __metadata__ '{}' is not text", key));
    }
    header_.metadata[key] = text.get<std::string>();
  }
  return Status::Ok();
}

/// Tensors must follow each other without overlap or hole, up to the end of the file.
Status HeaderParser::CheckLayout() const {
  int64_t expected = header_.data_begin;
  for (const SafetensorsEntry& entry : header_.entries) {
    if (entry.begin < expected) {
      return FailTensor(entry.name, "overlaps the tensor before it");
    }
    if (entry.begin > expected) {
      return FailTensor(entry.name, fmt::format("leaves {} bytes before it unused", entry.begin - expected));
    }
    expected = entry.end;
  }
  return expected == file_bytes_ ? Status::Ok()
                                 : Fail(fmt::format("its last {} bytes belong to no tensor", file_bytes_ - expected));
}

Result<SafetensorsHeader> HeaderParser::Run(std::string_view text, int64_t data_begin) {
  header_.data_begin = data_begin;
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text));
  for (const auto& [name, value] : document.items()) {
    if (name == kMetadataKey) {
      ASSAY_RETURN_IF_ERROR(ReadMetadata(value));
    } else {
      ASSAY_ASSIGN_OR_RETURN(SafetensorsEntry entry, ReadEntry(name, value));
      header_.entries.push_back(std::move(entry));
    }
  }
  std::ranges::sort(header_.entries, {},
                    [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
  ASSAY_RETURN_IF_ERROR(CheckLayout());
  return std::move(header_);
}

size_t BytesOfTexts(const std::map<std::string, std::string>& texts) {
  size_t bytes = 0;
  for (const auto& [key, text] : texts) {
    bytes += text.size();
  }
  return bytes;
}

}  // namespace

Result<int64_t> SafetensorsDataBegin(std::string_view first_bytes, int64_t file_bytes, const std::string& uri) {
  const std::string advice = "the file is damaged or not safetensors, fetch or write it again";
  if (first_bytes.size() < kSafetensorsLengthBytes) {
    return Status::InvalidArgument(
        fmt::format("{}: it has {} bytes, too few for a header length; {}", uri, first_bytes.size(), advice));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(first_bytes[i])) << (8 * i);
  }
  if (length > kMaxHeaderBytes || static_cast<int64_t>(length) > file_bytes - kSafetensorsLengthBytes) {
    return Status::InvalidArgument(
        fmt::format("{}: its header claims {} bytes, the file has {}; {}", uri, length, file_bytes, advice));
  }
  return kSafetensorsLengthBytes + static_cast<int64_t>(length);
}

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view head, int64_t file_bytes, const std::string& uri) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t data_begin, SafetensorsDataBegin(head, file_bytes, uri));
  const std::string_view text =
      head.substr(kSafetensorsLengthBytes, static_cast<size_t>(data_begin - kSafetensorsLengthBytes));
  return HeaderParser(uri, file_bytes).Run(text, data_begin);
}

Result<std::string> MakeSafetensorsHead(std::vector<SafetensorsEntry>& entries,
                                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) {
    header[kMetadataKey] = metadata;
  }
  int64_t offset = 0;
  for (SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadataKey) {
      return Status::Unsupported(fmt::format(
          "cannot write tensor '{}': safetensors keeps its texts under that name (--format pt or dcp holds it)",
          entry.name));
    }
    const DTypeInfo& info = InfoOf(entry.dtype);
    if (info.safetensors.empty()) {
      return Status::Unsupported(fmt::format(
          "cannot write tensor '{}': safetensors has no type for {} (--format pt or dcp has)", entry.name, info.name));
    }
    Sizes shape = entry.shape;
    if (entry.dtype == DType::kFloat4E2M1FnX2 && !shape.empty()) {
      shape.back() *= 2;
    }
    const int64_t bytes = BytesOf(entry.dtype, Count(entry.shape));
    header[entry.name] = {{"dtype", info.safetensors}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    entry.begin = offset;
    entry.end = offset + bytes;
    offset += bytes;
  }
  std::string text = "{}";
  if (!header.empty()) {
    text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  text.append((kDataAlignment - (kSafetensorsLengthBytes + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  if (text.size() > kMaxHeaderBytes) {
    return Status::Unsupported(fmt::format(
        "cannot write a safetensors header of {} bytes, more than the {} that are read: plain values, which "
        "lie in it, take {} (--format pt or dcp holds them)",
        text.size(), kMaxHeaderBytes, BytesOfTexts(metadata)));
  }
  std::string head;
  PutLittleEndian(head, text.size(), kSafetensorsLengthBytes);
  head += text;
  for (SafetensorsEntry& entry : entries) {
    entry.begin += static_cast<int64_t>(head.size());
    entry.end += static_cast<int64_t>(head.size());
  }
  return head;
}

}  // namespace assay::checkpoint
