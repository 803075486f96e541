// assay operations: which commands measured or met what in a store, and when.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

struct OperationsOptions {
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

void PrintJson(const std::vector<samplestore::Operation>& operations) {
  auto all = nlohmann::json::array();
  for (const samplestore::Operation& operation : operations) {
    all.push_back({{"uid", operation.uid},
                   {"kind", operation.kind},
                   {"space", operation.space},
                   {"started_at", operation.started_at},
                   {"finished_at", operation.finished_at},
                   {"exit_state", operation.exit_state},
                   {"measured", operation.measured},
                   {"replayed", operation.replayed}});
  }
  fmt::print("{}", DumpJsonPretty(all));
}

Status Run(const OperationsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store, samplestore::StoreAccess::kReadOnly));
  ASSAY_ASSIGN_OR_RETURN(const auto operations, store->ListOperations());
  if (options.output == "json") {
    PrintJson(operations);
  } else {
    PrintTable(operations);
  }
  return Status::Ok();
}

}  // namespace

Action AddOperations(CLI::App& app) {
  auto options = std::make_shared<OperationsOptions>();
  AddStoreOption(app, options->store);
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
