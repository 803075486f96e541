// The parts of the report's page, each written to the page's markup.
#pragma once

#include "report/html.h"
#include "report/report_content.h"

namespace assay::report {

void WriteHeader(Markup& html, const ReportContent& content);
void WriteFindings(Markup& html, const ReportContent& content);
void WriteCharts(Markup& html, const ReportContent& content);
/// Lines over the batch size; nothing when no series has two sizes.
void WriteCostModel(Markup& html, const ReportContent& content);
/// What the experiments declare of their parts; nothing when no measurement has them.
void WriteBreakdowns(Markup& html, const ReportContent& content);
void WriteTable(Markup& html, const ReportContent& content);
/// Tables of others' figures.
void WritePublished(Markup& html, const ReportContent& content);
/// Every configuration with all its values and where they come from.
void WriteDetails(Markup& html, const ReportContent& content);
/// What the intervals and the columns mean.
void WriteReadingHelp(Markup& html, const ReportContent& content);

/// A badge with the outcome's name.
void WriteOutcome(Markup& html, samplestore::Outcome outcome);

}  // namespace assay::report
