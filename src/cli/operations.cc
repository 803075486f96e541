// assay operations: which commands measured or met what in a store, and when.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "report/characterization.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

struct OperationsOptions {
  std::string operation;  ///< the beginning of an id; empty: all
  std::string store;
  std::string output;
};

std::string StateOf(const samplestore::Operation& operation) {
  return operation.exit_state.empty() ? "running or killed" : operation.exit_state;
}

void PrintTable(const std::vector<samplestore::Operation>& operations) {
  TextTable table({"started", "finished", "kind", "space", "state", "measured", "replayed", "id"});
  for (const samplestore::Operation& operation : operations) {
    table.AddRow({operation.started_at, operation.finished_at.empty() ? "-" : operation.finished_at, operation.kind,
                  operation.space, StateOf(operation), std::to_string(operation.measured),
                  std::to_string(operation.replayed), operation.uid});
  }
  fmt::print("{}", operations.empty() ? "No operations.\n" : table.Render());
}

/// Others may have written them: a text where they are no JSON.
nlohmann::json DetailsOf(const samplestore::Operation& operation) {
  if (operation.details.empty()) {
    return nlohmann::json::object();
  }
  Result<nlohmann::json> details = ParseJson(operation.details, operation.uid);
  return details.ok() ? *std::move(details) : nlohmann::json(operation.details);
}

nlohmann::json ToJson(const samplestore::Operation& operation) {
  return {{"uid", operation.uid},
          {"kind", operation.kind},
          {"space", operation.space},
          {"started_at", operation.started_at},
          {"finished_at", operation.finished_at},
          {"exit_state", operation.exit_state},
          {"measured", operation.measured},
          {"replayed", operation.replayed},
          {"details", DetailsOf(operation)}};
}

void PrintJson(const std::vector<samplestore::Operation>& operations) {
  auto all = nlohmann::json::array();
  for (const samplestore::Operation& operation : operations) {
    all.push_back(ToJson(operation));
  }
  fmt::print("{}", DumpJsonPretty(all));
}

void PrintDetails(nlohmann::json details) {
  std::string text;
  if (details.contains("characterization")) {
    text = report::CharacterizationText(details["characterization"]);
  }
  if (!text.empty()) {
    details.erase("characterization");
    text.insert(0, "\n");
  }
  fmt::print("{}{}", details.empty() ? "" : DumpJsonPretty(details), text);
}

/// The one whose id begins as was said.
Result<samplestore::Operation> Find(const std::vector<samplestore::Operation>& operations, const std::string& begin) {
  std::vector<samplestore::Operation> found;
  std::ranges::copy_if(operations, std::back_inserter(found),
                       [&](const samplestore::Operation& operation) { return operation.uid.starts_with(begin); });
  if (found.size() == 1) {
    return found.front();
  }
  return found.empty()
             ? Status::NotFound(fmt::format("no operation has an id that begins with {}", begin))
             : Status::InvalidArgument(fmt::format("{} operations have ids that begin with {}", found.size(), begin));
}

Status Run(const OperationsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store, samplestore::StoreAccess::kReadOnly));
  ASSAY_ASSIGN_OR_RETURN(const auto operations, store->ListOperations());
  if (!options.operation.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const samplestore::Operation operation, Find(operations, options.operation));
    if (options.output == "json") {
      fmt::print("{}", DumpJsonPretty(ToJson(operation)));
      return Status::Ok();
    }
    PrintTable({operation});
    PrintDetails(DetailsOf(operation));
  } else if (options.output == "json") {
    PrintJson(operations);
  } else {
    PrintTable(operations);
  }
  return Status::Ok();
}

}  // namespace

Action AddOperations(CLI::App& app) {
  auto options = std::make_shared<OperationsOptions>();
  app.add_option("operation", options->operation, "The beginning of an id: that operation with its details [all]")
      ->type_name("ID");
  AddStoreOption(app, options->store);
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
