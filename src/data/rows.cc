#include "data/rows.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace assay::data {
namespace {

using nlohmann::json;

constexpr std::string_view kKnownShapes =
    R"({"output"}, {"prompt", "completion"}, {"messages"} or {"input_ids", "labels"})";

Result<json> ParseObject(std::string_view text) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::parse_error& error) {
    return Status::InvalidArgument(
        fmt::format("the row is not JSON (at character {}); expected one JSON object a line", error.byte));
  } catch (const json::exception& error) {
    return Status::InvalidArgument(fmt::format("the row cannot be read as JSON ({})", error.what()));
  }
  if (!object.is_object()) {
    return Status::InvalidArgument(fmt::format("the row is a JSON {}; expected an object", object.type_name()));
  }
  return object;
}

Result<std::string> TextField(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) {
    return Status::InvalidArgument(fmt::format("the row has no '{}'", key));
  }
  if (!it->is_string()) {
    return Status::InvalidArgument(fmt::format("'{}' is a JSON {}; expected text", key, it->type_name()));
  }
  return it->get<std::string>();
}

Result<Row> ParseText(const json& object) {
  Row row{.kind = RowKind::kText};
  ASSAY_ASSIGN_OR_RETURN(row.text, TextField(object, "output"));
  if (Trim(row.text).empty()) {
    return Status::InvalidArgument("the row is empty ('output' holds no text)");
  }
  return row;
}

Result<Row> ParsePromptCompletion(const json& object) {
  Row row{.kind = RowKind::kPromptCompletion};
  ASSAY_ASSIGN_OR_RETURN(row.text, TextField(object, "prompt"));
  ASSAY_ASSIGN_OR_RETURN(row.completion, TextField(object, "completion"));
  if (Trim(row.completion).empty()) {
    return Status::InvalidArgument("the row is empty ('completion' holds no text)");
  }
  return row;
}

Result<Row> ParseMessages(const json& object) {
  Row row{.kind = RowKind::kMessages};
  const json& messages = object.at("messages");
  if (!messages.is_array() || messages.empty()) {
    return Status::InvalidArgument(
        "'messages' is not a list of turns; expected [{\"role\": ..., \"content\": ...}, ...]");
  }
  bool has_answer = false;
  for (const json& turn : messages) {
    if (!turn.is_object()) {
      return Status::InvalidArgument(
          fmt::format("turn {} of 'messages' is a JSON {}; expected an object with 'role' and 'content'",
                      row.messages.size() + 1, turn.type_name()));
    }
    auto role = TextField(turn, "role");
    auto content = TextField(turn, "content");
    if (!role.ok() || !content.ok()) {
      return (role.ok() ? content.status() : role.status())
          .WithContext(fmt::format("turn {} of 'messages'", row.messages.size() + 1));
    }
    has_answer = has_answer || (*role == "assistant" && !content->empty());
    row.messages.push_back({*std::move(role), *std::move(content)});
  }
  if (!has_answer) {
    return Status::InvalidArgument(
        "'messages' has no turn of role 'assistant' with text: there is nothing to learn from it");
  }
  return row;
}

/// Reads a list of token ids; kMaskedLabel is one of them where `allow_masked`.
Status ReadIds(const json& array, const char* key, bool allow_masked, std::vector<int32_t>& ids) {
  if (!array.is_array()) {
    return Status::InvalidArgument(
        fmt::format("'{}' is a JSON {}; expected a list of token ids", key, array.type_name()));
  }
  ids.reserve(array.size());
  for (const json& element : array) {
    if (!element.is_number_integer()) {
      return Status::InvalidArgument(fmt::format("'{}' has {} at position {}; expected a token id", key,
                                                 element.dump(-1, ' ', false, json::error_handler_t::replace),
                                                 ids.size()));
    }
    // Beyond int64_t a number comes back as another one.
    const bool too_large = element.is_number_unsigned() && element.get<uint64_t>() > INT32_MAX;
    const auto id = element.get<int64_t>();
    const bool masked = allow_masked && id == kMaskedLabel;
    if (too_large || (id < 0 && !masked)) {
      return Status::InvalidArgument(fmt::format("'{}' has {} at position {}; expected a token id from 0{}", key,
                                                 element.dump(), ids.size(),
                                                 allow_masked ? ", or -100 for a masked token" : ""));
    }
    ids.push_back(static_cast<int32_t>(id));
  }
  return Status::Ok();
}

Result<Row> ParseTokens(const json& object) {
  Row row{.kind = RowKind::kTokens};
  ASSAY_RETURN_IF_ERROR(ReadIds(object.at("input_ids"), "input_ids", /*allow_masked=*/false, row.tokens.ids));
  if (row.tokens.ids.empty()) {
    return Status::InvalidArgument("the row is empty ('input_ids' has no ids)");
  }
  const auto labels = object.find("labels");
  if (labels == object.end() || labels->is_null()) {
    row.tokens.labels = row.tokens.ids;
    return row;
  }
  ASSAY_RETURN_IF_ERROR(ReadIds(*labels, "labels", /*allow_masked=*/true, row.tokens.labels));
  if (row.tokens.labels.size() != row.tokens.ids.size()) {
    return Status::InvalidArgument(fmt::format("the row has {} labels for {} input_ids; expected as many",
                                               row.tokens.labels.size(), row.tokens.ids.size()));
  }
  return row;
}

std::string KeysOf(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) {
    keys.push_back(fmt::format("'{}'", key));
  }
  return keys.empty() ? "no keys" : "the keys " + Join(keys, ", ");
}

}  // namespace

Result<Row> ParseRow(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const json object, ParseObject(text));
  if (object.contains("input_ids")) {
    return ParseTokens(object);
  }
  if (object.contains("messages")) {
    return ParseMessages(object);
  }
  if (object.contains("prompt") || object.contains("completion")) {
    return ParsePromptCompletion(object);
  }
  if (object.contains("output")) {
    return ParseText(object);
  }
  return Status::InvalidArgument(
      fmt::format("the row has none of the known shapes (it has {}); expected {}", KeysOf(object), kKnownShapes));
}

std::string FormatRow(const Row& row) {
  json object = json::object();
  switch (row.kind) {
    case RowKind::kTokens:
      object["input_ids"] = row.tokens.ids;
      object["labels"] = row.tokens.labels;
      break;
    case RowKind::kMessages:
      object["messages"] = json::array();
      for (const Message& message : row.messages) {
        object["messages"].push_back({{"role", message.role}, {"content", message.content}});
      }
      break;
    case RowKind::kPromptCompletion:
      object["prompt"] = row.text;
      object["completion"] = row.completion;
      break;
    case RowKind::kText:
      object["output"] = row.text;
      break;
  }
  return DumpJson(object);
}

}  // namespace assay::data
