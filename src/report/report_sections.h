// The parts of the page that stand without script, each written to the page's markup.
#pragma once

#include <cstddef>

#include "report/html.h"
#include "report/report_content.h"

namespace assay::report {

/// Title, description and what was measured on what and when.
void WriteHeader(Markup& html, const ReportContent& content);
/// How many points have which state, each a link to them: for the page with script.
void WriteStates(Markup& html, const ReportContent& content);
void WriteFindings(Markup& html, const ReportContent& content);
/// Rows of each table that stands without script: who reads more of them has the exports.
inline constexpr size_t kMostRows = 500;
/// Tables beside those of others, likewise.
inline constexpr size_t kMostPublishedTables = 12;

/// Configurations; nothing where there are none.
void WriteTable(Markup& html, const ReportContent& content);
/// "The first 1,000 of 12,345 ..." where not all rows are there.
void WriteLeftOut(Markup& html, size_t rows);
/// Lines over the batch size; nothing when no series has two sizes.
void WriteCostModel(Markup& html, const ReportContent& content);
/// Where one line overtakes another; nothing where none does.
void WriteCrossings(Markup& html, const ReportContent& content);
/// What the experiments declare of their parts; nothing when no measurement has them.
void WriteBreakdowns(Markup& html, const ReportContent& content);
/// Tables of others' figures.
void WritePublished(Markup& html, const ReportContent& content);
/// What the intervals, the badges and the columns mean.
void WriteReadingHelp(Markup& html, const ReportContent& content);

}  // namespace assay::report
