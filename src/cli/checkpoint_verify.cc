// assay checkpoint verify: reads a checkpoint, or all under a prefix, and says whether they are whole.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "checkpoint/manage.h"
#include "checkpoint/verify.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct CheckpointVerifyOptions {
  StoreFlags store;
  std::string uri;
  bool recursive = false;
  std::string output;
};

/// Of one checkpoint.
struct Whole {
  std::string uri;
  checkpoint::VerifyReport report;
};

bool IsDamage(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument;
}

/// What is so damaged that not even its begin can be read is reported like any other damage.
Result<Whole> VerifyPlace(const checkpoint::Place& place, TransferProgress& progress) {
  Whole whole = {place.uri(), {}};
  const Result<std::optional<checkpoint::Found>> found = checkpoint::FindCheckpoint(place);
  if (!found.ok()) {
    if (!IsDamage(found.status())) {
      return found.status();
    }
    whole.report.damages.push_back(found.status().message());
    return whole;
  }
  if (!*found) {
    return checkpoint::NoCheckpoint(place);
  }
  ASSAY_ASSIGN_OR_RETURN(whole.report,
                         checkpoint::Verify(**found, [&progress](int64_t bytes) { progress.AddBytes(bytes); }));
  return whole;
}

Result<std::vector<Whole>> VerifyAll(const CheckpointVerifyOptions& options, const checkpoint::Place& place) {
  TransferProgress progress("verifying");
  std::vector<Whole> all;
  if (!options.recursive) {
    ASSAY_ASSIGN_OR_RETURN(Whole whole, VerifyPlace(place, progress));
    all.push_back(std::move(whole));
    return all;
  }
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Listing listing, checkpoint::ListCheckpoints(place));
  for (const checkpoint::ListedCheckpoint& listed : listing.checkpoints) {
    ASSAY_ASSIGN_OR_RETURN(Whole whole, VerifyPlace(listed.found.place, progress));
    all.push_back(std::move(whole));
  }
  if (listing.checkpoints.empty() && listing.others.empty()) {
    return Status::NotFound(fmt::format("there is no checkpoint under {}", place.uri()));
  }
  for (const checkpoint::NotOffered& other : listing.others) {
    if (other.is_unknown()) {
      return other.why;
    }
    all.push_back({other.uri, {}});
    all.back().report.damages.push_back(other.why.message());
  }
  return all;
}

void Print(const CheckpointVerifyOptions& options, const std::vector<Whole>& all) {
  nlohmann::json json = nlohmann::json::array();
  for (const Whole& whole : all) {
    const checkpoint::VerifyReport& report = whole.report;
    if (options.output == "json") {
      json.push_back({{"uri", whole.uri},
                      {"whole", report.damages.empty()},
                      {"damages", report.damages},
                      {"checked", report.reach},
                      {"bytes", report.bytes},
                      {"tensors", report.tensors}});
      continue;
    }
    for (const std::string& damage : report.damages) {
      fmt::print("{}\n", Escaped(damage));
    }
    if (report.damages.empty()) {
      fmt::print("ok {}: {} tensors in {} files, {} ({})\n", Escaped(whole.uri), report.tensors, report.files,
                 FormatBytes(static_cast<double>(report.bytes)), report.reach);
    }
  }
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(json));
  }
}

Status VerifyRun(const CheckpointVerifyOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place,
                         OpenCheckpointPlace(options.store, options.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Whole> all, VerifyAll(options, place));
  Print(options, all);
  int64_t damaged = 0;
  for (const Whole& whole : all) {
    damaged += whole.report.damages.empty() ? 0 : 1;
  }
  return damaged == 0
             ? Status::Ok()
             : Status::Io(all.size() == 1 ? fmt::format("{} is not whole", all.front().uri)
                                          : fmt::format("{} of {} checkpoints are not whole", damaged, all.size()));
}

}  // namespace

Action AddCheckpointVerify(CLI::App& app) {
  auto options = std::make_shared<CheckpointVerifyOptions>();
  app.add_option("uri", options->uri, "The checkpoint: a file or a folder")->required();
  app.add_flag("-r,--recursive", options->recursive, "All checkpoints under it");
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return VerifyRun(*options); }); };
}

}  // namespace assay::cli
