#include "report/export/csv.h"

#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "report/export/table.h"

namespace assay::report {
namespace {

std::string Quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(field);
  }
  std::string quoted = "\"";
  for (char c : field) {
    quoted += c;
    if (c == '"') {
      quoted += '"';
    }
  }
  return quoted + '"';
}

struct FieldText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

void AppendCsvLine(const std::vector<std::string>& fields, std::string& csv) {
  for (size_t i = 0; i < fields.size(); ++i) {
    csv += i == 0 ? "" : ",";
    csv += Quoted(fields[i]);
  }
  csv += "\r\n";
}

std::string CsvField(const space::Value& value) {
  return std::visit(FieldText(), value);
}

std::string ToCsv(const Table& table) {
  std::string csv;
  std::vector<std::string> fields;
  for (const Column& column : table) {
    fields.push_back(column.name);
  }
  AppendCsvLine(fields, csv);
  const size_t rows = table.empty() ? 0 : table.front().cells.size();
  for (size_t row = 0; row < rows; ++row) {
    fields.clear();
    for (const Column& column : table) {
      fields.push_back(CsvField(column.cells[row]));
    }
    AppendCsvLine(fields, csv);
  }
  return csv;
}

}  // namespace assay::report
