#include "report/charts/figure.h"

#include <fmt/format.h>

#include <array>

#include "report/html.h"

namespace assay::report {
namespace {

constexpr experiment::Role kBatchSize = experiment::Role::kBatchSize;
constexpr experiment::Role kLength = experiment::Role::kLength;

constexpr std::array kChartKinds = {
    ChartKind{"throughput-by-batch-size", "Throughput", &BuildMetricByProperty, MetricKind::kThroughput, kBatchSize},
    ChartKind{"throughput-by-max-length", "Throughput", &BuildMetricByProperty, MetricKind::kThroughput, kLength},
    ChartKind{"throughput", "Throughput", &BuildRanking, MetricKind::kThroughput},
    ChartKind{"tensor-memory-by-batch-size", "Peak tensor memory", &BuildMetricByProperty,
              MetricKind::kPeakTensorMemory, kBatchSize},
    ChartKind{"tensor-memory-by-max-length", "Peak tensor memory", &BuildMetricByProperty,
              MetricKind::kPeakTensorMemory, kLength},
    ChartKind{"resident-memory-by-batch-size", "Peak resident memory", &BuildMetricByProperty,
              MetricKind::kPeakResidentMemory, kBatchSize},
    ChartKind{"resident-memory-by-max-length", "Peak resident memory", &BuildMetricByProperty,
              MetricKind::kPeakResidentMemory, kLength},
    ChartKind{"step-time-by-batch-size", "Median step time", &BuildMetricByProperty, MetricKind::kStepSeconds,
              kBatchSize},
    ChartKind{"memory-phases", "Peak tensor memory by phase", &BuildMemoryPhases},
    ChartKind{"step-time", "Step time, every step", &BuildStepSpread},
    ChartKind{"loss", "Training loss", &BuildLossCurves},
    ChartKind{"utilization", "Use of the machine over time", &BuildUtilization},
};

constexpr double kSwatchWidth = 30;
constexpr double kSwatchHeight = 12;

// A piece of the drawing with its text beside it.
template <typename DrawSwatch>
void LegendItem(Markup& html, std::string_view label, std::string_view classes, DrawSwatch draw) {
  html.Open("li");
  html.Open("svg", {{"viewBox", fmt::format("0 0 {} {}", kSwatchWidth, kSwatchHeight)},
                    {"class", fmt::format("swatch {}", classes)},
                    {"aria-hidden", "true"}});
  draw(html);
  html.Close().Element("span", label).Close();
}

void Legend(Markup& html, const Figure& figure) {
  if (figure.legend.empty() && !figure.outcome_marks) {
    return;
  }
  html.Open("ul", {{"class", "legend"}});
  for (const LegendEntry& entry : figure.legend) {
    LegendItem(html, entry.label, entry.style.Classes(), [&](Markup& svg) {
      if (figure.legend_lines) {
        DrawLine(svg, 1, kSwatchHeight / 2, kSwatchWidth - 1, kSwatchHeight / 2, "line");
      }
      if (figure.legend_markers) {
        DrawMarker(svg, entry.style.line, kSwatchWidth / 2, kSwatchHeight / 2);
      }
    });
  }
  if (figure.outcome_marks) {
    const auto mark = [](samplestore::Outcome outcome) {
      return [outcome](Markup& svg) { DrawOutcomeMark(svg, outcome, kSwatchWidth / 2, kSwatchHeight / 2); };
    };
    LegendItem(html, "invalid", "plain", mark(samplestore::Outcome::kInvalid));
    LegendItem(html, "failed", "plain", mark(samplestore::Outcome::kFailed));
  }
  html.Close();
}

}  // namespace

std::span<const ChartKind> ChartKinds() {
  return kChartKinds;
}

std::string RenderFigure(const Figure& figure, bool alone) {
  Markup html;
  const std::string_view layout = figure.wide()                     ? "chart wide"
                                  : alone && !figure.legend.empty() ? "chart alone"
                                                                    : "chart";
  html.Open("figure", {{"id", figure.id}, {"class", std::string(layout)}});
  html.Open("figcaption").Element("h3", figure.title).Element("p", figure.subtitle, {{"class", "sub"}}).Close();
  Legend(html, figure);
  html.Open("div", {{"class", "panels"}});
  for (const FigurePanel& panel : figure.panels) {
    html.Open("div", {{"class", "panel"}});
    if (!panel.title.empty()) {
      html.Element("h4", panel.title);
    }
    html.Raw(panel.svg).Close();
  }
  html.Close();
  if (!figure.note.empty()) {
    html.Element("p", figure.note, {{"class", "note"}});
  }
  return std::move(html).Finish();
}

}  // namespace assay::report
