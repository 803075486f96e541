// The forms that a report is written in, and how its files are known again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report_content.h"

namespace assay::report {

enum class Form {
  kHtml,     ///< the page
  kJson,     ///< what the page is made of: report/model/report_model.h
  kCsv,      ///< what the page shows of each configuration: report/export/table.h
  kParquet,  ///< the same
};

/// "html", "json", "csv", "parquet": names, and what files of theirs end in.
std::optional<Form> FormFromName(std::string_view name);
/// By what stands behind the last dot of `path`; nothing where that is no form.
std::optional<Form> FormOfFile(std::string_view path);

std::string RenderReport(const ReportInput& input, Form form);

/// Whether `content` is a report of ours in any form: nothing else is written over.
bool IsReport(std::string_view content);

}  // namespace assay::report
