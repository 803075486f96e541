#include "report/report_form.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "report/export/table.h"
#include "report/html_report.h"
#include "report/model/report_model.h"

namespace assay::report {
namespace {

constexpr std::array kForms = {
    std::pair{std::string_view("html"), Form::kHtml}, std::pair{std::string_view("json"), Form::kJson},
    std::pair{std::string_view("csv"), Form::kCsv}, std::pair{std::string_view("parquet"), Form::kParquet}};

}  // namespace

std::optional<Form> FormFromName(std::string_view name) {
  for (const auto& [known, form] : kForms) {
    if (known == name) {
      return form;
    }
  }
  return std::nullopt;
}

std::optional<Form> FormOfFile(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::nullopt : FormFromName(path.substr(dot + 1));
}

std::string RenderReport(const ReportInput& input, Form form) {
  switch (form) {
    case Form::kJson:
      return DumpJson(ReportModel(ReportContent(input))) + "\n";
    case Form::kCsv:
      return ToCsv(ConfigurationTable(ReportContent(input)));
    case Form::kParquet:
      return ToParquet(ConfigurationTable(ReportContent(input)));
    case Form::kHtml:
      break;
  }
  return RenderHtmlReport(input);
}

bool IsReport(std::string_view content) {
  const auto has = [&](std::string_view text) { return content.find(text) != std::string_view::npos; };
  return (content.starts_with("<!DOCTYPE html>") && has(kSignature)) ||
         (content.starts_with('{') && has(fmt::format("\"format\":\"{}\"", kModelFormat))) ||
         content.starts_with(fmt::format("{},state,reason,runs,", kFirstColumn)) ||
         (content.starts_with("PAR1") && has(kParquetCreator));
}

}  // namespace assay::report
