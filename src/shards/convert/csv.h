// Records of CSV (RFC 4180): fields may be quoted, and then hold separators, newlines and doubled quotes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::shards {

/// Where the record at the front of `text` ends, its newline included; nothing where its end is not there. The last
/// record of a file may lack its newline: then that is its `at_end`.
std::optional<size_t> CsvRecordEnd(std::string_view text, char separator, bool at_end);

/// The fields of `record`, which CsvRecordEnd() cut. Views into it and into `unquoted`, which holds those with doubled
/// quotes. InvalidArgument for text behind a closing quote, and for a quote that is not closed.
Status SplitCsvRecord(std::string_view record, char separator, std::vector<std::string_view>& fields,
                      std::string& unquoted);

/// "007" and "007.5": what counts on more digits than the number has, and would not come back from it.
bool HasLeadingZero(std::string_view number);

}  // namespace assay::shards
