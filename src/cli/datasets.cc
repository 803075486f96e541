// assay datasets: the data sets that are known by an id, and whether they can be read.
#include "data/datasets.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/options.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

Status ListDatasets(const std::string& output) {
  nlohmann::json list = nlohmann::json::array();
  TextTable table({"data set", "entries", "state", "rows"});
  for (const data::DatasetInfo& dataset : data::KnownDatasets()) {
    const std::string id(dataset.id);
    const std::string description(dataset.description);
    const std::string state = dataset.supported ? "available" : "not supported yet";
    nlohmann::json json = {{"id", id}, {"state", state}, {"description", description}};
    if (dataset.entries > 0) {
      json["entries"] = dataset.entries;
    }
    list.push_back(std::move(json));
    table.AddRow({id, dataset.entries > 0 ? fmt::format("{}", dataset.entries) : "-", state, description});
  }
  fmt::print("{}", output == "json" ? DumpJsonPretty(list) : table.Render());
  return Status::Ok();
}

}  // namespace

Action AddDatasets(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  AddOutputOption(app, *output, {"table", "json"});
  return [output] { return ListDatasets(*output); };
}

}  // namespace assay::cli
