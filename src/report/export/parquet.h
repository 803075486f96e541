// Parquet files, written a group of rows at a time. https://github.com/apache/parquet-format
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/export/table.h"

namespace assay::report {

/// Makes the bytes of a file, which the caller writes one after the other: Begin(), AddRows() for each group, End().
/// Every column is optional, plain, not compressed.
class ParquetWriter {
 public:
  /// `name` is what rows are of. A group holds at most 2 GiB in a column.
  ParquetWriter(std::string name, std::string creator) : name_(std::move(name)), creator_(std::move(creator)) {}

  std::string Begin();
  /// All groups have the same columns.
  std::string AddRows(const Table& rows);
  /// `columns` are those of the groups; their cells do not count.
  std::string End(const Table& columns) const;

 private:
  struct Chunk {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  struct Group {
    std::vector<Chunk> chunks;
    int64_t rows = 0;
  };

  std::string name_;
  std::string creator_;
  int64_t written_bytes_ = 0;
  std::vector<Group> groups_;
};

}  // namespace assay::report
