// Tokens of rows, stored beside their text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/encoding.h"

namespace assay::shards {

struct RowTokens {
  std::vector<int32_t> ids{};
  std::vector<int32_t> labels{};
};

/// What makes rows into tokens.
struct RowTokenizer {
  /// Of a row of JSON; safe from several threads.
  std::function<Result<RowTokens>(std::string_view json)> tokenize{};
  std::vector<std::string> keys{};  ///< of such a row, that it looks at
  std::string hash{};               ///< of the tokeniser and of all else that decides what it makes
};

/// The columns input_ids and labels. Immutable; safe from several threads.
class TokenColumns {
 public:
  /// Of a schema's `columns`, sorted by name, that have both.
  TokenColumns(const std::vector<Column>& columns, RowTokenizer tokenizer);

  /// `columns` with both, sorted by name. InvalidArgument where one of their names is taken.
  static Result<std::vector<Column>> AddTo(std::vector<Column> columns);

  /// The other columns, which rows bring.
  const std::vector<Column>& brought() const { return brought_; }
  /// What is read of a source that has columns, where it has them: those that rows bring and those that the tokeniser
  /// looks at.
  const std::vector<Column>& read() const { return read_; }
  /// Those that it looks at, as texts.
  const std::vector<Column>& looked_at() const { return looked_at_; }
  /// Puts the tokens of `line`, the text that `row` was read from, into it, as views of `tokens`. Returns how many.
  Result<uint32_t> Fill(std::string_view line, Row& row, RowTokens& tokens) const;

 private:
  RowTokenizer tokenizer_;
  std::vector<Column> brought_;
  std::vector<Column> looked_at_;
  std::vector<Column> read_;
  std::vector<int64_t> places_;  // of input_ids and labels in a row
};

}  // namespace assay::shards
