#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/event_list.h"
#include "cli/tune_result_parts.h"

namespace assay::cli {
namespace {

/// Of all data ranks together.
int64_t Images(const std::vector<job::Step>& steps) {
  int64_t images = 0;
  for (const job::Step& step : steps) {
    images += step.samples;
  }
  return images;
}

double ImagesPerSecond(const std::vector<job::Step>& steps) {
  return PerSecond(Images(steps), steps);
}

}  // namespace

void AddToJson(const job::VitPlan& plan, const job::RunRecord& record, nlohmann::json& json) {
  json["precision"] = plan.precision;
  json["images_per_second"] = ImagesPerSecond(job::Steps(record));
  json["evaluations"] = EventList<job::Evaluation>(record);
  if (!plan.data_uri.empty()) {
    json["data"] = StreamedDataJson(plan, record);
    json["data"]["images_per_second_without_stalls"] = PerSecondWithoutStalls(Images(job::Steps(record)), record);
  }
}

void AddModelRows(const job::VitPlan& plan, const job::Loaded& loaded, TextTable& table) {
  table.AddRow({"parameters", fmt::format("{}, {}", loaded.parameters, plan.precision)});
}

void AddStepRows(const job::VitPlan& plan, const std::vector<job::Step>& steps, TextTable& table) {
  table.AddRow({"throughput", fmt::format("{} images/s, {} of a data rank a step", FormatNumber(ImagesPerSecond(steps)),
                                          plan.batch_size)});
}

std::string MoreTables(const job::VitPlan&, const job::RunRecord& record) {
  const auto evaluations = job::EventsOf<job::Evaluation>(record);
  if (evaluations.empty()) {
    return "";
  }
  TextTable table({"epoch", "step", "loss", "accuracy", "images", "time"});
  for (const job::Evaluation& evaluation : evaluations) {
    table.AddRow({std::to_string(evaluation.epoch), std::to_string(evaluation.step),
                  fmt::format("{:.4f}", evaluation.loss), fmt::format("{:.2f} %", 100 * evaluation.accuracy),
                  std::to_string(evaluation.samples), FormatSeconds(evaluation.seconds)});
  }
  return '\n' + table.Render();
}

}  // namespace assay::cli
