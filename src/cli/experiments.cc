// assay experiments: the catalogue, and each experiment like a manual page.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"

namespace assay::cli {
namespace {

using experiment::Definition;
using experiment::Experiment;
using experiment::PropertySpec;
using experiment::TargetSpec;

struct ExperimentsOptions {
  std::string id;
  std::string output;
};

constexpr size_t kTextWidth = 96;

/// `text` broken at spaces, every line indented.
std::string Wrap(const std::string& text, size_t indent) {
  const std::string margin(indent, ' ');
  std::string lines = margin;
  size_t column = indent;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (column > indent && column + 1 + (end - begin) > kTextWidth) {
      lines += "\n" + margin;
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines.append(text, begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return lines + "\n";
}

/// "None, True": what this version can do of the domain.
std::string SupportedText(const PropertySpec& property) {
  std::vector<std::string> values;
  for (const space::Value& value : property.supported) {
    values.push_back(space::ToString(value));
  }
  return Join(values, ", ");
}

void PrintProperty(const PropertySpec& property) {
  std::string head = fmt::format("  {}", property.name);
  if (!property.required) {
    head += fmt::format("  [default {}]", space::ToString(property.default_value));
  }
  if (!property.unit.empty()) {
    head += fmt::format("  in {}", property.unit);
  }
  if (property.own) {
    head += "  (not the reference's)";
  }
  fmt::print("{}\n{}", head, Wrap(property.domain.DescribeInFull(), 6));
  if (!property.supported.empty()) {
    fmt::print("{}", Wrap("supported: only " + SupportedText(property), 6));
  }
  fmt::print("{}", Wrap(property.description, 6));
  for (const std::string& note : property.notes) {
    fmt::print("{}", Wrap(note, 8));
  }
}

void PrintProperties(const Experiment& experiment, std::string_view title, bool required) {
  fmt::print("\n{}\n", title);
  for (const PropertySpec& property : experiment.properties()) {
    if (property.required == required) {
      PrintProperty(property);
    }
  }
}

void PrintTargets(const Experiment& experiment, std::string_view title, Definition definition) {
  fmt::print("\n{}\n", title);
  for (const TargetSpec& target : experiment.targets()) {
    if (target.definition == definition) {
      fmt::print("  {}{}\n{}", target.name, target.unit.empty() ? "" : "  in " + target.unit,
                 Wrap(target.description, 6));
    }
  }
}

void PrintManual(const Experiment& experiment) {
  fmt::print("{}\n{}", experiment.id(), Wrap(experiment.description(), 2));
  PrintProperties(experiment, "REQUIRED PROPERTIES", true);
  PrintProperties(experiment, "OPTIONAL PROPERTIES", false);
  PrintTargets(experiment, "TARGETS, by the reference's definition", Definition::kReference);
  PrintTargets(experiment, "TARGETS, exact", Definition::kExact);
}

/// `supported` stands only where a part of the domain is not.
nlohmann::json ToJson(const PropertySpec& property) {
  nlohmann::json json = {{"name", property.name},
                         {"required", property.required},
                         {"domain", property.domain.DescribeInFull()},
                         {"default", space::ToJson(property.default_value)},
                         {"unit", property.unit},
                         {"description", property.description},
                         {"notes", property.notes},
                         {"own", property.own}};
  for (const space::Value& value : property.supported) {
    json["supported"].push_back(space::ToJson(value));
  }
  return json;
}

nlohmann::json ToJson(const Experiment& experiment) {
  nlohmann::json json = {{"id", experiment.id()}, {"description", experiment.description()}};
  for (const PropertySpec& property : experiment.properties()) {
    json["properties"].push_back(ToJson(property));
  }
  for (const TargetSpec& target : experiment.targets()) {
    json["targets"].push_back({{"name", target.name},
                               {"unit", target.unit},
                               {"definition", target.definition == Definition::kReference ? "reference" : "exact"},
                               {"description", target.description}});
  }
  return json;
}

Status Run(const ExperimentsOptions& options) {
  if (!options.id.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const Experiment* experiment, experiment::FindExperiment(options.id));
    if (options.output == "json") {
      fmt::print("{}", DumpJsonPretty(ToJson(*experiment)));
    } else {
      PrintManual(*experiment);
    }
    return Status::Ok();
  }
  nlohmann::json list = nlohmann::json::array();
  TextTable table({"experiment", "description"});
  for (const Experiment* experiment : experiment::AllExperiments()) {
    list.push_back(ToJson(*experiment));
    table.AddRow({experiment->id(), experiment->description()});
  }
  fmt::print("{}", options.output == "json" ? DumpJsonPretty(list) : table.Render());
  return Status::Ok();
}

}  // namespace

Action AddExperiments(CLI::App& app) {
  auto options = std::make_shared<ExperimentsOptions>();
  app.add_option("id", options->id, "Describe this experiment in full")->type_name("ID");
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
