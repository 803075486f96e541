#include "data/jsonl_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::data {

JsonlFile::JsonlFile(std::string path, std::shared_ptr<const MappedFile> file)
    : path_(std::move(path)), file_(std::move(file)), content_hash_(Sha256Hex(file_->text())) {
  const std::string_view text = file_->text();
  int64_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    if (!Trim(text.substr(begin, end - begin)).empty()) {
      rows_.push_back({line, begin, end - begin});
    }
    begin = end + 1;
  }
}

Result<std::unique_ptr<RowSource>> JsonlFile::Open(const std::string& path) {
  if (IsDirectory(path)) {
    return Status::InvalidArgument(fmt::format("cannot read data set {}: it is a folder; expected a JSONL file", path));
  }
  auto file = MappedFile::Open(path);
  if (!file.ok()) {
    return file.status().WithContext("data set");
  }
  std::unique_ptr<JsonlFile> jsonl(new JsonlFile(path, *std::move(file)));
  if (jsonl->rows_.empty()) {
    return Status::InvalidArgument(fmt::format("data set {} is empty; expected one JSON object a line", path));
  }
  return std::unique_ptr<RowSource>(std::move(jsonl));
}

Result<Row> JsonlFile::Read(int64_t index) const {
  const LineSpan& span = rows_[index];
  auto row = ParseRow(file_->text().substr(span.begin, span.size));
  if (!row.ok()) {
    return row.status().WithContext(Where(index));
  }
  row->tokens.line = span.line;
  return row;
}

std::string JsonlFile::Where(int64_t index) const {
  return fmt::format("{}:{}", path_, rows_[index].line);
}

}  // namespace assay::data
