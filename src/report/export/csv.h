// Lines of CSV as RFC 4180 has them.
#pragma once

#include <string>
#include <vector>

#include "space/entity.h"

namespace assay::report {

/// Adds `fields` and CRLF; what holds a comma, a quote or a line end stands in quotes.
void AppendCsvLine(const std::vector<std::string>& fields, std::string& csv);

/// A value exactly: the shortest form that reads back the same; None is empty.
std::string CsvField(const space::Value& value);

}  // namespace assay::report
