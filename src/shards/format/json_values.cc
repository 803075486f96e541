#include "shards/format/json_values.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostDimensions = 63;

Status NotAnArray(std::string_view why) {
  return Status::InvalidArgument(fmt::format("the list is no array: {}", why));
}

bool ReadNumber(const dom::element& element, JsonArray& array) {
  Field& number = array.numbers.emplace_back();
  switch (element.type()) {
    case dom::element_type::INT64:
      number.SetInteger(element.get_int64().value_unsafe());
      return true;
    case dom::element_type::UINT64:
      number.SetUnsigned(element.get_uint64().value_unsafe());
      return true;
    case dom::element_type::DOUBLE:
      number.SetNumber(element.get_double().value_unsafe());
      array.has_fraction = true;
      return true;
    case dom::element_type::BOOL:
      number.SetBool(element.get_bool().value_unsafe());
      return true;
    default:
      return false;
  }
}

Status ReadDimension(const dom::array& list, size_t depth, JsonArray& array) {
  const auto size = static_cast<int64_t>(list.size());
  if (depth == array.shape.size()) {
    if (depth == kMostDimensions || !array.numbers.empty()) {
      return NotAnArray(depth == kMostDimensions ? "it has more than 63 dimensions" : "it holds numbers beside lists");
    }
    array.shape.push_back(size);
  } else if (array.shape[depth] != size) {
    return NotAnArray(fmt::format("it holds lists of {} and of {}", array.shape[depth], size));
  }
  for (const dom::element element : list) {
    if (element.type() == dom::element_type::ARRAY) {
      ASSAY_RETURN_IF_ERROR(ReadDimension(element.get_array().value_unsafe(), depth + 1, array));
    } else if (depth + 1 != array.shape.size()) {
      return NotAnArray("it holds numbers beside lists");
    } else if (!ReadNumber(element, array)) {
      return NotAnArray("it holds what is no number");
    }
  }
  return Status::Ok();
}

/// The list lives as long as the thread's parser, which the next call takes again.
Result<dom::array> ParseList(std::string_view json) {
  thread_local dom::parser parser;
  dom::array list;
  if (const auto error = parser.parse(json.data(), json.size()).get_array().get(list)) {
    return NotAnArray(simdjson::error_message(error));
  }
  return list;
}

}  // namespace

Result<JsonArray> ReadJsonArray(std::string_view json) {
  ASSAY_ASSIGN_OR_RETURN(const dom::array list, ParseList(json));
  JsonArray array;
  ASSAY_RETURN_IF_ERROR(ReadDimension(list, 0, array));
  return array;
}

Status AppendBase64(std::string_view text, std::string& out) {
  const auto decoded = storage::Base64Decode(text);
  if (!decoded) {
    return Status::InvalidArgument("the text is no base64, which stands for bytes here");
  }
  out += *decoded;
  return Status::Ok();
}

Result<std::vector<std::string>> ReadJsonBase64List(std::string_view json) {
  ASSAY_ASSIGN_OR_RETURN(const dom::array list, ParseList(json));
  std::vector<std::string> items;
  for (const dom::element element : list) {
    std::string_view text;
    if (element.get_string().get(text) != simdjson::SUCCESS) {
      return Status::InvalidArgument("the list of files holds what is no text");
    }
    ASSAY_RETURN_IF_ERROR(AppendBase64(text, items.emplace_back()));
  }
  return items;
}

}  // namespace assay::shards
