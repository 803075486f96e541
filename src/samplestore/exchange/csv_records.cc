#include "samplestore/exchange/csv_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "samplestore/exchange/content_chain.h"
#include "shards/convert/csv.h"

namespace assay::samplestore {

CsvRecords::CsvRecords(std::string path, std::string_view text) : path_(std::move(path)), text_(text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  text_.remove_prefix(text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

std::string CsvRecords::Where() const {
  return fmt::format("{}:{}", path_, line_);
}

Result<std::span<const std::string_view>> CsvRecords::Next() {
  const size_t size = shards::CsvRecordEnd(text_, ',', /*at_end=*/true).value_or(text_.size());
  const std::string_view record = text_.substr(0, size);
  text_.remove_prefix(size);
  line_ = next_line_;
  next_line_ += std::ranges::count(record, '\n');
  if (!record.ends_with('\n')) {
    return FileIsCutOff(Where());
  }
  const Status split = shards::SplitCsvRecord(record, ',', fields_, unquoted_);
  if (!split.ok()) {
    return split.WithContext(Where());
  }
  return std::span<const std::string_view>(fields_);
}
}  // namespace assay::samplestore
