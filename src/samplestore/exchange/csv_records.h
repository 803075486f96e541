// The records of a CSV file, one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::samplestore {

/// A mark of byte order before the first record is passed over. Copies begin where theirs is.
class CsvRecords {
 public:
  /// `text` is that of file `path`, and must outlive it.
  CsvRecords(std::string path, std::string_view text);

  bool at_end() const { return text_.empty(); }
  /// The line on which the record that was read last begins: "all.csv:12".
  std::string Where() const;

  /// The fields of the next one, until the next call. Refuses one that does not end with a line's end.
  Result<std::span<const std::string_view>> Next();

 private:
  std::string path_;
  std::string_view text_;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

}  // namespace assay::samplestore
