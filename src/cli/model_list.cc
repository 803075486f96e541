// assay model list: the named models, whether they can be built, and where their weights are.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/model_verb.h"
#include "cli/options.h"
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

/// Unknown sizes are 0: of models whose configuration is not at hand.
nlohmann::json SizeJson(int64_t parameters) {
  return parameters > 0 ? nlohmann::json(parameters) : nlohmann::json();
}

std::string SizeText(int64_t parameters) {
  return parameters > 0 ? FormatCount(parameters) : "";
}

Status Run(const std::string& output) {
  nlohmann::json list = nlohmann::json::array();
  TextTable table({"model", "family", "parameters", "state", "hub"});
  for (const data::CatalogueModel& model : data::ModelCatalogue()) {
    const std::string name(model.name);
    const std::string family(model.family);
    const auto ref = data::ResolveModel(name, ShareDirectory());
    const int64_t parameters = ref.ok() ? ref->parameters : 0;
    const std::string state = ref.ok() && ref->has_weights ? "fetched" : StatusText(model.status);
    const std::string repository(model.repository);
    list.push_back({{"name", name},
                    {"family", family},
                    {"parameters", SizeJson(parameters)},
                    {"state", state},
                    {"repository", repository}});
    table.AddRow({name, family, SizeText(parameters), state, repository});
  }
  for (const data::VisionModel& model : data::VisionModels()) {
    const std::string name(model.name);
    const auto ref = data::ResolveVisionModel(name, ShareDirectory());
    const int64_t parameters = ref.ok() ? ref->shape.parameters() : 0;
    list.push_back({{"name", name},
                    {"family", "vit"},
                    {"parameters", SizeJson(parameters)},
                    {"state", StatusText(data::ModelStatus::kAvailable)}});
    table.AddRow({name, "vit", SizeText(parameters), StatusText(data::ModelStatus::kAvailable)});
  }
  fmt::print("{}", output == "json" ? DumpJsonPretty(list) : table.Render());
  return Status::Ok();
}

}  // namespace

Action AddModelList(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  AddOutputOption(app, *output, {"table", "json"});
  return [output] { return Run(*output); };
}

}  // namespace assay::cli
