// assay checkpoint ls: the checkpoints under a folder or prefix.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "checkpoint/manage.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"
#include "cli/options.h"
#include "storage/auth/time_format.h"

namespace assay::cli {
namespace {

struct CheckpointLsOptions {
  StoreFlags store;
  std::string uri;
  std::string output;
};

nlohmann::json ListedJson(const checkpoint::ListedCheckpoint& listed) {
  nlohmann::json json = {{"uri", listed.uri},
                         {"step", listed.step ? nlohmann::json(*listed.step) : nlohmann::json()},
                         {"format", checkpoint::NameOf(listed.found.format)},
                         {"bytes", listed.bytes},
                         {"time", storage::IsoTime(listed.time)},
                         {"manifest", listed.is_ours()}};
  if (listed.is_ours() && !listed.found.manifest->metrics.empty()) {
    json["metrics"] = listed.found.manifest->metrics;
  }
  return json;
}

void PrintTable(const checkpoint::Listing& listing) {
  TextTable table({"step", "format", "size", "time", "manifest", "checkpoint"});
  for (const checkpoint::ListedCheckpoint& listed : listing.checkpoints) {
    table.AddRow({listed.step ? fmt::format("{}", *listed.step) : "-",
                  std::string(checkpoint::NameOf(listed.found.format)), FormatBytes(static_cast<double>(listed.bytes)),
                  storage::IsoTime(listed.time), listed.is_ours() ? "yes" : "no", Escaped(listed.uri)});
  }
  fmt::print("{}", table.Render());
}

Status ListRun(const CheckpointLsOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place,
                         OpenCheckpointPlace(options.store, options.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Listing listing, checkpoint::ListCheckpoints(place));
  for (const checkpoint::NotOffered& other : listing.others) {
    fmt::print(stderr, "assay checkpoint: {} is not listed: {}\n", Escaped(other.uri), OneLine(other.why.message()));
  }
  if (options.output == "json") {
    nlohmann::json json = nlohmann::json::array();
    for (const checkpoint::ListedCheckpoint& listed : listing.checkpoints) {
      json.push_back(ListedJson(listed));
    }
    fmt::print("{}", DumpJsonPretty(json));
  } else if (!listing.checkpoints.empty()) {
    PrintTable(listing);
  } else if (listing.others.empty()) {
    return Status::NotFound(fmt::format("there is no checkpoint under {}", place.uri()));
  }
  return Status::Ok();
}

}  // namespace

Action AddCheckpointLs(CLI::App& app) {
  auto options = std::make_shared<CheckpointLsOptions>();
  app.add_option("uri", options->uri, "A folder, s3://bucket/prefix, gs://, oci://bucket@namespace/")->required();
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return ListRun(*options); }); };
}

}  // namespace assay::cli
