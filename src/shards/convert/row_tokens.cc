#include "shards/convert/row_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::shards {
namespace {

constexpr std::string_view kTokenColumns[] = {"input_ids", "labels"};
constexpr std::string_view kTokenEncoding = "ndarray:int32";

/// A view of `ids`.
Field ArrayOf(const std::vector<int32_t>& ids) {
  Field field;
  field.SetText(FieldKind::kArray, {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t)});
  field.dtype = DType::kInt32;
  field.shape = {static_cast<int64_t>(ids.size())};
  return field;
}

}  // namespace

TokenColumns::TokenColumns(const std::vector<Column>& columns, RowTokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::find(kTokenColumns, columns[i].name) != std::end(kTokenColumns)) {
      places_.push_back(static_cast<int64_t>(i));
    } else {
      brought_.push_back(columns[i]);
    }
  }
  read_ = brought_;
  for (const std::string& key : tokenizer_.keys) {
    looked_at_.push_back({key, {.name = "str", .kind = EncodingKind::kStr}});
    if (std::ranges::find(brought_, key, &Column::name) == brought_.end()) {
      read_.push_back(looked_at_.back());
    }
  }
}

Result<std::vector<Column>> TokenColumns::AddTo(std::vector<Column> columns) {
  for (const std::string_view name : kTokenColumns) {
    if (std::ranges::find(columns, name, &Column::name) != columns.end()) {
      return Status::InvalidArgument(
          fmt::format("the rows have a column '{}' of their own: leave --tokenizer out", name));
    }
    ASSAY_ASSIGN_OR_RETURN(Encoding encoding, Encoding::Parse(kTokenEncoding));
    columns.push_back({std::string(name), std::move(encoding)});
  }
  std::ranges::sort(columns, {}, &Column::name);
  return columns;
}

Result<uint32_t> TokenColumns::Fill(std::string_view line, Row& row, RowTokens& tokens) const {
  ASSAY_ASSIGN_OR_RETURN(tokens, tokenizer_.tokenize(line));
  const std::vector<int32_t>* const made[] = {&tokens.ids, &tokens.labels};
  for (size_t i = 0; i < places_.size(); ++i) {
    row.insert(row.begin() + places_[i], ArrayOf(*made[i]));
  }
  return static_cast<uint32_t>(tokens.ids.size());
}

}  // namespace assay::shards
