#include "report/model/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "experiment/phase_series.h"

namespace assay::report {
namespace {

using nlohmann::json;

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::string_view kStepTime = "step_time";
constexpr std::string_view kStepSeconds = "step_seconds";

struct Figure {
  std::string_view id;
  std::string_view title;
  std::string_view unit;
  bool by_step = false;
  double scale = 1;
  bool from_zero = true;
};

constexpr std::array<Figure, 9> kFigures = {{
    {.id = "loss", .title = "Loss", .unit = "", .by_step = true, .from_zero = false},
    {.id = kStepTime, .title = "Step time", .unit = "s", .by_step = true},
    {.id = "gradients", .title = "Norm of the gradients", .unit = "", .by_step = true},
    {.id = "cpu", .title = "CPU", .unit = "% (100 = one core)"},
    {.id = "resident", .title = "Resident memory", .unit = "GiB", .scale = kGib},
    {.id = "disk", .title = "Disk, since the start", .unit = "GiB", .scale = kGib},
    {.id = "gpu", .title = "GPU", .unit = "%"},
    {.id = "gpu_memory", .title = "GPU memory", .unit = "GiB", .scale = kGib},
    {.id = "gpu_power", .title = "GPU power", .unit = "W"},
}};

/// Series of one device without its number: "gpu.power_watts".
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kSeries = {{
    {"loss", "loss"},
    {"reference_loss", "loss"},
    {kStepSeconds, kStepTime},
    {"rank.step_seconds", kStepTime},
    {"grad_norm", "gradients"},
    {"reference_grad_norm", "gradients"},
    {"cpu_tree_percent", "cpu"},
    {"cpu_process_percent", "cpu"},
    {"rss_tree_bytes", "resident"},
    {"rss_process_bytes", "resident"},
    {"disk_read_bytes", "disk"},
    {"disk_write_bytes", "disk"},
    {"gpu.utilization_percent", "gpu"},
    {"gpu.memory_used_bytes", "gpu_memory"},
    {"gpu.power_watts", "gpu_power"},
}};

std::string WithoutNumber(std::string_view series) {
  const size_t dot = series.find('.');
  if (dot == std::string_view::npos) {
    return std::string(series);
  }
  std::string_view device = series.substr(0, dot);
  while (!device.empty() && std::isdigit(static_cast<unsigned char>(device.back())) != 0) {
    device.remove_suffix(1);
  }
  return fmt::format("{}{}", device, series.substr(dot));
}

std::string_view FigureOf(std::string_view series) {
  const std::string name = WithoutNumber(series);
  const auto* found = std::ranges::find(kSeries, name, &std::pair<std::string_view, std::string_view>::first);
  return found == kSeries.end() ? std::string_view() : found->second;
}

}  // namespace

json FiguresJson(std::string_view loss_of) {
  json figures = json::array();
  for (const Figure& figure : kFigures) {
    const bool is_mean = figure.id == "loss" && !loss_of.empty();
    figures.push_back({{"id", figure.id},
                       {"title", figure.title},
                       {"text", is_mean ? fmt::format("mean over a step's {}", loss_of) : ""},
                       {"unit", figure.unit},
                       {"over", figure.by_step ? "step" : "seconds since the start"},
                       {"scale", figure.scale},
                       {"zero", figure.from_zero}});
  }
  return figures;
}

std::vector<std::string_view> FiguresOf(std::span<const std::string> series) {
  std::vector<std::string_view> figures;
  std::ranges::transform(series, std::back_inserter(figures), &FigureOf);
  const auto is_of_rank = [](std::string_view name) { return experiment::RankOf(name).has_value(); };
  const bool has_ranks = std::ranges::count_if(series, [&](const auto& name) {
                           return FigureOf(name) == kStepTime && is_of_rank(name);
                         }) > 1;
  for (size_t i = 0; i < figures.size(); ++i) {
    if (figures[i] == kStepTime && is_of_rank(series[i]) != has_ranks) {
      figures[i] = {};
    }
  }
  return figures;
}

std::string CurveLabel(std::string_view series) {
  if (const std::optional<int> rank = experiment::RankOf(series)) {
    return fmt::format("rank {}", *rank);
  }
  std::string label(series);
  std::ranges::replace(label, '_', ' ');
  return label;
}

}  // namespace assay::report
