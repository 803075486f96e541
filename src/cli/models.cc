// assay models: the named models, and whether they can be built.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "data/model_catalogue.h"
#include "data/vision_models.h"

namespace assay::cli {
namespace {

const char* StatusText(data::ModelStatus status) {
  switch (status) {
    case data::ModelStatus::kAvailable:
      return "available";
    case data::ModelStatus::kFamilyUnsupported:
      return "family not supported yet";
    case data::ModelStatus::kNotPublished:
      return "configuration not published: give a folder";
  }
  return "";
}

Status Run(const std::string& output) {
  nlohmann::json list = nlohmann::json::array();
  TextTable table({"model", "family", "state"});
  for (const data::CatalogueModel& model : data::ModelCatalogue()) {
    const std::string name(model.name);
    const std::string family(model.family);
    list.push_back({{"name", name}, {"family", family}, {"state", StatusText(model.status)}});
    table.AddRow({name, family, StatusText(model.status)});
  }
  for (const data::VisionModel& model : data::VisionModels()) {
    const std::string name(model.name);
    list.push_back({{"name", name}, {"family", "vit"}, {"state", StatusText(data::ModelStatus::kAvailable)}});
    table.AddRow({name, "vit", StatusText(data::ModelStatus::kAvailable)});
  }
  fmt::print("{}", output == "json" ? DumpJsonPretty(list) : table.Render());
  return Status::Ok();
}

}  // namespace

Action AddModels(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  AddOutputOption(app, *output, {"table", "json"});
  return [output] { return Run(*output); };
}

}  // namespace assay::cli
