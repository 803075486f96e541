#include "report/model/run_details.h"

#include "report/model/lanes_part.h"
#include "report/model/parts.h"
#include "report/model/series_part.h"

namespace assay::report {
namespace {

constexpr size_t kMostPoints = 2000;
constexpr size_t kMostStretches = 600;

}  // namespace

nlohmann::json RunDetails(const samplestore::Measurement& run) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, value] : run.properties) {
    values[name] = ValueJson(value);
  }
  return {{"uid", run.uid},
          {"values", std::move(values)},
          {"told", run.provenance},
          {"series", SeriesOfRun(run, kMostPoints)},
          {"lanes", LanesJson(run, kMostStretches)}};
}

}  // namespace assay::report
