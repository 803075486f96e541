// A JSONL file as a sequence of rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/rows.h"

namespace assay::data {

/// A mapped JSONL file. Opening it finds its lines and hashes its bytes; a row is parsed each time it is read. Blank
/// lines are skipped and counted, so that Line() is what an editor shows.
class JsonlFile final : public RowSource {
 public:
  /// Fails when the file is missing or has no rows.
  static Result<std::unique_ptr<RowSource>> Open(const std::string& path);

  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  Result<Row> Read(int64_t index) const override;
  int64_t Line(int64_t index) const override { return rows_[index].line; }
  std::string Where(int64_t index) const override;
  const std::string& name() const override { return path_; }
  const std::string& content_hash() const override { return content_hash_; }

 private:
  struct LineSpan {
    int64_t line;
    size_t begin;
    size_t size;
  };

  JsonlFile(std::string path, std::shared_ptr<const MappedFile> file);

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<LineSpan> rows_;
  std::string content_hash_;
};

}  // namespace assay::data
