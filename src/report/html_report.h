// The report: one HTML file that holds everything it needs and opens without a network.
#pragma once

#include <string>
#include <string_view>

#include "report/report_content.h"

namespace assay::report {

/// Words that every report holds near its end.
inline constexpr std::string_view kSignature = "<footer><p>Made by assay on ";

/// Title, what was measured on what and when, findings and the table of results as plain HTML, which stands without
/// script; the model (report/model/report_model.h) and the script that makes views of it. Its content security policy
/// lets that script and style sheet run and nothing else. Any measurements make a page, none too.
std::string RenderHtmlReport(const ReportInput& input);

/// The page that asks a server for its models; script and style sheet come from `/assets/`.
std::string RenderServedPage();

}  // namespace assay::report
