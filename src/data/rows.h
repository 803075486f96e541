// The four shapes of a training row, as they stand in a JSONL file, and where a sequence of rows comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/token_file.h"

namespace assay::data {

/// One turn of a conversation.
struct Message {
  std::string role;
  std::string content;
};

/// What a row's keys say it is. A row that has the keys of several is the first of them in this order.
enum class RowKind {
  kTokens,            ///< {"input_ids": [...], "labels": [...]}: taken as they are; labels default to the ids
  kMessages,          ///< {"messages": [{"role", "content"}...]}
  kPromptCompletion,  ///< {"prompt": text, "completion": text}
  kText,              ///< {"output": text}: prompt and response in one text, parted by the response template
};

/// One row before tokenisation. Which fields hold something depends on `kind`.
struct Row {
  RowKind kind = RowKind::kText;
  std::string text = {};  ///< kText: all of it; kPromptCompletion: the prompt
  std::string completion = {};
  std::vector<Message> messages = {};
  TokenRow tokens = {};  ///< ids and labels of kTokens; the line of every kind
};

/// The keys that ParseRow() looks at.
inline constexpr std::string_view kRowKeys[] = {"completion", "input_ids", "labels", "messages", "output", "prompt"};

/// Reads one JSON object. An error says what is wrong and what was expected; where the row stands is the caller's to
/// say.
Result<Row> ParseRow(std::string_view json);

/// The row as one line of JSON, without a newline: the inverse of ParseRow.
std::string FormatRow(const Row& row);

/// A sequence of rows that can be read at any position. Immutable; safe from several threads.
class RowSource {
 public:
  virtual ~RowSource() = default;

  virtual int64_t size() const = 0;
  /// Row `index`; an error names the place.
  virtual Result<Row> Read(int64_t index) const = 0;
  /// The line of row `index` in its file, from 1; 0 when it stands in none.
  virtual int64_t Line(int64_t index) const = 0;
  /// The place of row `index` for messages: "data.jsonl:7".
  virtual std::string Where(int64_t index) const = 0;
  /// What the rows come from, for messages: a path or a data set's id.
  virtual const std::string& name() const = 0;
  /// SHA-256 of what decides the rows' content.
  virtual const std::string& content_hash() const = 0;
};

}  // namespace assay::data
