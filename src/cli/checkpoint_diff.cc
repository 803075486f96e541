// assay checkpoint diff: what differs between two checkpoints, tensor by tensor.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "checkpoint/diff.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

using Kind = checkpoint::LeafDifference::Kind;

struct CheckpointDiffOptions {
  StoreFlags store;
  std::string a;
  std::string b;
  bool all = false;
  std::string output;
};

const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {"same", "changed", "other form", "only in the first", "only in the second"};
  return kNames[static_cast<size_t>(kind)];
}

nlohmann::json DifferenceJson(const checkpoint::LeafDifference& difference) {
  nlohmann::json json = {
      {"name", difference.name}, {"kind", NameOf(difference.kind)}, {"a", difference.in_a}, {"b", difference.in_b}};
  if (difference.elements) {
    json["norm_a"] = std::sqrt(difference.elements->of_a.squares);
    json["norm_b"] = std::sqrt(difference.elements->of_b.squares);
    json["norm_change"] = std::sqrt(difference.elements->squares);
    json["largest_change"] = difference.elements->largest;
    json["differing"] = difference.elements->differing;
    json["not_comparable"] = difference.elements->not_comparable;
  }
  return json;
}

std::vector<std::string> Row(const checkpoint::LeafDifference& difference) {
  const std::string name = Escaped(difference.name);
  if (!difference.elements) {
    const std::string both = difference.in_a == difference.in_b || difference.in_b.empty() ? difference.in_a
                             : difference.in_a.empty() ? difference.in_b
                                                       : fmt::format("{} -> {}", difference.in_a, difference.in_b);
    return {name, NameOf(difference.kind), Escaped(both), "-", "-", "-", "-", "-"};
  }
  const checkpoint::ElementDifference& elements = *difference.elements;
  return {name,
          NameOf(difference.kind),
          difference.in_a,
          FormatNumber(std::sqrt(elements.of_a.squares)),
          FormatNumber(std::sqrt(elements.of_b.squares)),
          FormatNumber(std::sqrt(elements.squares)),
          FormatNumber(elements.largest),
          fmt::format("{}", elements.differing)};
}

void PrintDifferences(const CheckpointDiffOptions& options,
                      const std::vector<checkpoint::LeafDifference>& differences) {
  nlohmann::json json = nlohmann::json::array();
  TextTable table({"name", "", "what", "norm", "norm after", "norm of change", "largest change", "elements changed"});
  int64_t same = 0;
  for (const checkpoint::LeafDifference& difference : differences) {
    same += difference.kind == Kind::kSame ? 1 : 0;
    if (difference.kind == Kind::kSame && !options.all) {
      continue;
    }
    json.push_back(DifferenceJson(difference));
    table.AddRow(Row(difference));
  }
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty({{"items", std::move(json)},
                                     {"same", same},
                                     {"different", static_cast<int64_t>(differences.size()) - same}}));
    return;
  }
  if (options.all || same < static_cast<int64_t>(differences.size())) {
    fmt::print("{}\n", table.Render());
  }
  fmt::print("{} the same to the bit, {} different\n", same, static_cast<int64_t>(differences.size()) - same);
}

Status DiffRun(const CheckpointDiffOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place_a,
                         OpenCheckpointPlace(options.store, options.a, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place_b,
                         OpenCheckpointPlace(options.store, options.b, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Checkpoint a, checkpoint::OpenCheckpoint(place_a));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Checkpoint b, checkpoint::OpenCheckpoint(place_b));
  std::vector<checkpoint::LeafDifference> differences;
  {
    TransferProgress progress("comparing");
    progress.SetTotal(checkpoint::TensorBytes(a.state));
    ASSAY_ASSIGN_OR_RETURN(differences,
                           checkpoint::Diff(a, b, [&progress](int64_t bytes) { progress.AddBytes(bytes); }));
  }
  PrintDifferences(options, differences);
  return Status::Ok();
}

}  // namespace

Action AddCheckpointDiff(CLI::App& app) {
  auto options = std::make_shared<CheckpointDiffOptions>();
  app.add_option("a", options->a, "A checkpoint: a file or a folder, of any format")->required();
  app.add_option("b", options->b, "The other one")->required();
  app.add_flag("--all", options->all, "Also what is the same");
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return DiffRun(*options); }); };
}

}  // namespace assay::cli
