// Where the memory and the time of a step over ranks go: the parts of each configuration's peak beside what was
// predicted, and the phases and communication of its steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "report/format.h"
#include "report/plain_grid.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

struct Quantity {
  GridColumn column;
  std::string_view property;
  double factor = 1;  // from the property's unit to the column's
  /// Not empty: the value is by how many percent `property` differs from this one.
  std::string_view relative_to = "";
};

struct Breakdown {
  std::string_view id;
  std::string_view title;
  std::string_view text;
  std::string_view property;  // without which a configuration has no row
  std::vector<Quantity> quantities;
};

constexpr double kMib = 1.0 / (1024 * 1024);
constexpr double kMilli = 1000;

const Breakdown& MemoryBreakdown() {
  static const Breakdown breakdown = {
      "memory",
      "Where the memory goes",
      "Tensor memory of a rank: the peak before the first step, the peak of the measured steps (the largest of all "
      "ranks), what the engine predicted for it without running, and by how much that is off; then what rank 0 held at "
      "its peak.",
      "ledger_parameters_bytes",
      {{{"initial peak", "MiB"}, "init_peak_tensor_bytes", kMib},
       {{"peak", "MiB"}, "peak_tensor_bytes", kMib},
       {{"predicted", "MiB"}, "predicted_peak_bytes", kMib},
       {{"off by", "%"}, "predicted_peak_bytes", 1, "peak_tensor_bytes"},
       {{"parameters", "MiB"}, "ledger_parameters_bytes", kMib},
       {{"gradients", "MiB"}, "ledger_gradients_bytes", kMib},
       {{"masters", "MiB"}, "ledger_master_bytes", kMib},
       {{"moments", "MiB"}, "ledger_moments_bytes", kMib},
       {{"buckets", "MiB"}, "ledger_buckets_bytes", kMib},
       {{"activations", "MiB"}, "ledger_activations_bytes", kMib},
       {{"temporaries", "MiB"}, "ledger_temporaries_bytes", kMib},
       {{"of it offloaded", "MiB"}, "host_offload_bytes", kMib}}};
  return breakdown;
}

const Breakdown& TimeBreakdown() {
  static const Breakdown breakdown = {
      "time",
      "Where the time goes",
      "A step's median time and that of its phases on rank 0; all collectives and the part of them that computation "
      "waited for (exposed), as means over ranks; what a rank sends in a step, and the bandwidth of the bus while it "
      "does, as nccl-tests define it.",
      "exposed_communication_seconds",
      {{{"step", "ms"}, "step_seconds_median", kMilli},
       {{"data", "ms"}, "data_seconds", kMilli},
       {{"forward", "ms"}, "forward_seconds", kMilli},
       {{"backward", "ms"}, "backward_seconds", kMilli},
       {{"optimiser", "ms"}, "optimizer_seconds", kMilli},
       {{"collectives", "ms"}, "communication_seconds", kMilli},
       {{"exposed", "ms"}, "exposed_communication_seconds", kMilli},
       {{"hidden", "%"}, "overlap_percent", 1},
       {{"sent", "MiB"}, "communication_bytes_per_step", kMib},
       {{"all-gather", "GB/s"}, "all_gather_bus_gb_per_s", 1},
       {{"reduce-scatter", "GB/s"}, "reduce_scatter_bus_gb_per_s", 1},
       {{"all-reduce", "GB/s"}, "all_reduce_bus_gb_per_s", 1},
       {{"energy", "images/J"}, "images_per_joule", 1}}};
  return breakdown;
}

std::optional<double> ValueOf(const Quantity& quantity, const Measurement& run) {
  const std::optional<double> value = NumberOf(run, quantity.property);
  if (!value || quantity.relative_to.empty()) {
    return value ? std::optional(*value * quantity.factor) : std::nullopt;
  }
  const std::optional<double> base = NumberOf(run, quantity.relative_to);
  return base && *base > 0 ? std::optional(100 * (*value / *base - 1)) : std::nullopt;
}

/// The mean over the runs that have it.
std::optional<double> ValueOf(const Quantity& quantity, const Configuration& configuration) {
  double sum = 0;
  double count = 0;
  for (const Measurement* run : configuration.CountedRuns()) {
    if (const std::optional<double> value = ValueOf(quantity, *run)) {
      sum += *value;
      count += 1;
    }
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::vector<const Configuration*> RowsOf(const Breakdown& breakdown, const ResultSet& results) {
  std::vector<const Configuration*> rows;
  for (const Configuration& configuration : results.configurations()) {
    const auto runs = configuration.CountedRuns();
    if (std::ranges::any_of(runs,
                            [&](const Measurement* run) { return NumberOf(*run, breakdown.property).has_value(); })) {
      rows.push_back(&configuration);
    }
  }
  return rows;
}

/// Those that any row has a value of: without a GPU there is no energy, in one rank no bandwidth.
std::vector<Quantity> ColumnsOf(const Breakdown& breakdown, const std::vector<const Configuration*>& rows) {
  std::vector<Quantity> columns;
  std::ranges::copy_if(breakdown.quantities, std::back_inserter(columns), [&](const Quantity& quantity) {
    return std::ranges::any_of(rows,
                               [&](const Configuration* row) { return ValueOf(quantity, *row).value_or(0) != 0; });
  });
  return columns;
}

void WriteRow(Markup& html, const ResultSet& results, const Configuration& row, const std::vector<Quantity>& columns) {
  html.Open("tr").Open("td", {{"class", "series"}});
  html.Element("a", results.Label(row, " \u00b7 "), {{"href", fmt::format("#p{}", row.index + 1)}}).Close();
  for (const Quantity& quantity : columns) {
    if (const std::optional<double> value = ValueOf(quantity, row)) {
      WriteNumberCell(html, quantity.relative_to.empty() ? Readable(*value) : fmt::format("{:+.1f}", *value), *value);
    } else {
      WriteEmptyCell(html);
    }
  }
  html.Close();
}

void WriteBreakdown(Markup& html, const Breakdown& breakdown, const ResultSet& results) {
  const std::vector<const Configuration*> rows = RowsOf(breakdown, results);
  if (rows.empty()) {
    return;
  }
  const std::vector<Quantity> columns = ColumnsOf(breakdown, rows);
  std::vector<GridColumn> headings;
  std::ranges::transform(columns, std::back_inserter(headings), &Quantity::column);
  html.Open("section", {{"id", std::string(breakdown.id)}}).Element("h2", breakdown.title);
  html.Element("p", breakdown.text);
  OpenGrid(html, breakdown.title, "configuration", headings);
  for (const Configuration* row : rows) {
    WriteRow(html, results, *row, columns);
  }
  CloseGrid(html);
  html.Close();
}

}  // namespace

void WriteBreakdowns(Markup& html, const ReportContent& content) {
  WriteBreakdown(html, MemoryBreakdown(), content.results);
  WriteBreakdown(html, TimeBreakdown(), content.results);
}

}  // namespace assay::report
