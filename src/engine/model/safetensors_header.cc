#include "engine/model/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr size_t kLengthBytes = 8;
/// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct DtypeName {
  std::string_view name;
  at::ScalarType dtype;
};

constexpr DtypeName kDtypes[] = {
    {"F32", at::kFloat},
    {"BF16", at::kBFloat16},
    {"F16", at::kHalf},
    {"F64", at::kDouble},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"U16", at::kUInt16},
    {"U32", at::kUInt32},
    {"U64", at::kUInt64},
};

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw StatusError(Status::InvalidArgument(
      fmt::format("{}: {}; the file is damaged or not safetensors, fetch or write it again", path, message)));
}

[[noreturn]] void fail_tensor(const std::string& path, std::string_view name, const std::string& message) {
  throw StatusError(Status::InvalidArgument(fmt::format("{}: tensor '{}' {}", path, name, message)));
}

std::string_view header_text(std::string_view file, const std::string& path) {
  if (file.size() < kLengthBytes) {
    fail(path, fmt::format("it has {} bytes, too few for a header length", file.size()));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(file[i])) << (8 * i);
  }
  if (length > kMaxHeaderBytes || length > file.size() - kLengthBytes) {
    fail(path, fmt::format("its header claims {} bytes, the file has {}", length, file.size()));
  }
  return file.substr(kLengthBytes, length);
}

/// The header as JSON. nlohmann keeps the last of two equal keys, so a callback looks for the second.
nlohmann::json parse_json(std::string_view text, const std::string& path) {
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
    fail(path, "its header is not a JSON object");
  }
  if (!duplicate.empty()) {
    fail_tensor(path, duplicate, "is listed twice in the header");
  }
  return header;
}

at::ScalarType read_dtype(const std::string& path, const std::string& name, const nlohmann::json& value) {
  const auto it = value.find("dtype");
  if (it == value.end() || !it->is_string()) {
    fail_tensor(path, name, "has no dtype");
  }
  const std::string dtype = it->get<std::string>();
  const auto* row = std::ranges::find(kDtypes, std::string_view(dtype), &DtypeName::name);
  if (row == std::end(kDtypes)) {
    fail_tensor(path, name, fmt::format("has the unknown dtype '{}'", dtype));
  }
  return row->dtype;
}

/// The list of non-negative integers under `key`.
std::vector<int64_t> read_sizes(const std::string& path, const std::string& name, const nlohmann::json& value,
                                std::string_view key) {
  const auto it = value.find(key);
  const auto is_size = [](const nlohmann::json& item) {
    return item.is_number_unsigned() && item.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  };
  if (it == value.end() || !it->is_array() || !std::ranges::all_of(*it, is_size)) {
    fail_tensor(path, name, fmt::format("has no {} of non-negative integers", key));
  }
  return it->get<std::vector<int64_t>>();
}

/// Bytes of a tensor, or a failure when the product does not fit.
size_t byte_length(const std::string& path, const TensorEntry& entry) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(entry.dtype));
  for (const int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      fail_tensor(path, entry.name, fmt::format("has an impossible shape [{}]", fmt::join(entry.shape, ", ")));
    }
  }
  return static_cast<size_t>(bytes);
}

TensorEntry read_entry(const std::string& path, const std::string& name, const nlohmann::json& value, size_t data_begin,
                       size_t data_bytes) {
  if (!value.is_object()) {
    fail_tensor(path, name, "is not described by a JSON object");
  }
  TensorEntry entry;
  entry.name = name;
  entry.dtype = read_dtype(path, name, value);
  entry.shape = read_sizes(path, name, value, "shape");
  const std::vector<int64_t> offsets = read_sizes(path, name, value, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail_tensor(path, name, "has data_offsets that are not a [begin, end] pair");
  }
  if (static_cast<size_t>(offsets[1]) > data_bytes) {
    fail_tensor(path, name,
                fmt::format("ends at byte {} of the data, but the file has only {}: it is truncated or damaged",
                            offsets[1], data_bytes));
  }
  const size_t expected = byte_length(path, entry);
  if (static_cast<size_t>(offsets[1] - offsets[0]) != expected) {
    fail_tensor(path, name,
                fmt::format("takes {} bytes, but {} [{}] needs {}", offsets[1] - offsets[0],
                            safetensors_dtype_name(entry.dtype), fmt::join(entry.shape, ", "), expected));
  }
  entry.begin = data_begin + static_cast<size_t>(offsets[0]);
  entry.end = data_begin + static_cast<size_t>(offsets[1]);
  return entry;
}

void read_metadata(const std::string& path, const nlohmann::json& value, SafetensorsHeader& header) {
  if (!value.is_object()) {
    fail(path, "its __metadata__ is not a JSON object");
  }
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      fail(path, fmt::format("its __metadata__ '{}' is not text", key));
    }
    header.metadata[key] = text.get<std::string>();
  }
}

/// Tensors must follow each other without overlap or hole, up to the end of the file.
void check_layout(const std::string& path, const SafetensorsHeader& header, size_t data_begin, size_t file_bytes) {
  std::vector<const TensorEntry*> order;
  for (const auto& [name, entry] : header.entries) {
    order.push_back(&entry);
  }
  std::ranges::sort(order, {}, [](const TensorEntry* entry) { return std::pair(entry->begin, entry->end); });
  size_t expected = data_begin;
  for (const TensorEntry* entry : order) {
    if (entry->begin < expected) {
      fail_tensor(path, entry->name, "overlaps the tensor before it");
    }
    if (entry->begin > expected) {
      fail_tensor(path, entry->name, fmt::format("leaves {} bytes before it unused", entry->begin - expected));
    }
    expected = entry->end;
  }
  if (expected != file_bytes) {
    fail(path, fmt::format("its last {} bytes belong to no tensor", file_bytes - expected));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& path) {
  const std::string_view text = header_text(file, path);
  const size_t data_begin = kLengthBytes + text.size();
  SafetensorsHeader header;
  const nlohmann::json document = parse_json(text, path);
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      read_metadata(path, value, header);
    } else {
      header.entries.emplace(name, read_entry(path, name, value, data_begin, file.size() - data_begin));
    }
  }
  check_layout(path, header, data_begin, file.size());
  return header;
}

std::string safetensors_dtype_name(at::ScalarType dtype) {
  const auto* row = std::ranges::find(kDtypes, dtype, &DtypeName::dtype);
  if (row == std::end(kDtypes)) {
    throw StatusError(
        Status::Internal(fmt::format("cannot write dtype {} to a safetensors file", c10::toString(dtype))));
  }
  return std::string(row->name);
}

}  // namespace assay::engine
