// assay checkpoint inspect: what is in a checkpoint.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "checkpoint/find.h"
#include "checkpoint/value/value_json.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct InspectOptions {
  StoreFlags store;
  std::string uri;
  std::string output;
};

nlohmann::json LeafJson(const checkpoint::Leaf& leaf) {
  const auto tensor = leaf.value.tensor();
  if (tensor == nullptr) {
    const Result<nlohmann::json> value = checkpoint::ValueToJson(leaf.value);
    return {{"name", leaf.name}, {"value", value.ok() ? *value : nlohmann::json(checkpoint::ShortText(leaf.value))}};
  }
  nlohmann::json chunks = nlohmann::json::array();
  for (const checkpoint::Block& block : tensor->blocks) {
    chunks.push_back({{"offsets", block.box.offsets}, {"sizes", block.box.sizes}});
  }
  return {{"name", leaf.name},
          {"dtype", checkpoint::InfoOf(tensor->dtype).name},
          {"shape", tensor->shape},
          {"bytes", tensor->bytes()},
          {"chunks", std::move(chunks)}};
}

void PrintJson(const checkpoint::Checkpoint& checkpoint, int64_t files) {
  nlohmann::json leaves = nlohmann::json::array();
  for (const checkpoint::Leaf& leaf : checkpoint.state.leaves) {
    leaves.push_back(LeafJson(leaf));
  }
  const nlohmann::json json = {{"uri", checkpoint.found.place.uri()},
                               {"format", checkpoint::NameOf(checkpoint.found.format)},
                               {"step", checkpoint.step ? nlohmann::json(*checkpoint.step) : nlohmann::json()},
                               {"manifest", checkpoint.found.manifest != nullptr},
                               {"files", files},
                               {"tensor_bytes", checkpoint::TensorBytes(checkpoint.state)},
                               {"items", std::move(leaves)}};
  fmt::print("{}", DumpJsonPretty(json));
}

void PrintText(const checkpoint::Checkpoint& checkpoint, int64_t files) {
  TextTable table({"name", "dtype", "shape", "size", "chunks"});
  int64_t tensors = 0;
  for (const checkpoint::Leaf& leaf : checkpoint.state.leaves) {
    const auto tensor = leaf.value.tensor();
    if (tensor == nullptr) {
      table.AddRow({Escaped(leaf.name), "value", Escaped(checkpoint::ShortText(leaf.value)), "-", "-"});
      continue;
    }
    ++tensors;
    table.AddRow({Escaped(leaf.name), std::string(checkpoint::InfoOf(tensor->dtype).name),
                  checkpoint::ShapeText(tensor->shape), FormatBytes(static_cast<double>(tensor->bytes())),
                  fmt::format("{}", tensor->blocks.size())});
  }
  fmt::print("{}\n{} tensors, {}, and {} values in {} file{} of {}{}{}\n", table.Render(), tensors,
             FormatBytes(static_cast<double>(checkpoint::TensorBytes(checkpoint.state))),
             static_cast<int64_t>(checkpoint.state.leaves.size()) - tensors, files, files == 1 ? "" : "s",
             checkpoint::NameOf(checkpoint.found.format),
             checkpoint.step ? fmt::format(", step {}", *checkpoint.step) : "",
             checkpoint.found.manifest != nullptr ? ", with a manifest" : "");
}

Status InspectRun(const InspectOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place,
                         OpenCheckpointPlace(options.store, options.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint, checkpoint::OpenCheckpoint(place));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, checkpoint::NamesOf(checkpoint.found));
  const auto files = static_cast<int64_t>(names.size());
  if (options.output == "json") {
    PrintJson(checkpoint, files);
  } else {
    PrintText(checkpoint, files);
  }
  return Status::Ok();
}

}  // namespace

Action AddCheckpointInspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  app.add_option("uri", options->uri, "The checkpoint: a file or a folder")->required();
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return InspectRun(*options); }); };
}

}  // namespace assay::cli
