// assay checkpoint rm: removes a checkpoint, all but some, or what crashes left.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "checkpoint/manage.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"

namespace assay::cli {
namespace {

struct CheckpointRmOptions {
  StoreFlags store;
  std::string uri;
  checkpoint::RetentionOptions keep;
  bool leftovers = false;
  double older_than_hours = 1;
  bool dry_run = false;
  bool quiet = false;

  bool retains() const { return keep.keep_last > 0 || keep.keep_best > 0; }
};

void Tell(const CheckpointRmOptions& options, const std::string& uri) {
  if (!options.quiet) {
    fmt::print("{}delete: {}\n", options.dry_run ? "(dryrun) " : "", Escaped(uri));
  }
}

Status Retain(const CheckpointRmOptions& options, const checkpoint::Place& place) {
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Listing listing, checkpoint::ListCheckpoints(place));
  ASSAY_ASSIGN_OR_RETURN(const auto removed, checkpoint::ToRemove(listing, options.keep));
  const std::vector<Status> ends =
      options.dry_run ? std::vector<Status>(removed.size()) : checkpoint::RemoveCheckpoints(removed);
  Status first;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].ok()) {
      Tell(options, removed[i].uri);
    }
    first = first.ok() ? ends[i] : first;
  }
  return first;
}

Status Sweep(const CheckpointRmOptions& options, const checkpoint::Place& place) {
  ASSAY_ASSIGN_OR_RETURN(const auto leftovers, checkpoint::FindLeftovers(place, options.older_than_hours * 3600));
  if (!options.dry_run) {
    ASSAY_RETURN_IF_ERROR(checkpoint::RemoveLeftovers(place, leftovers));
  }
  for (const checkpoint::Leftover& leftover : leftovers) {
    Tell(options, leftover.upload_id.empty() ? leftover.uri : fmt::format("{} (unfinished upload)", leftover.uri));
  }
  return Status::Ok();
}

Status RemoveRun(const CheckpointRmOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place place,
                         OpenCheckpointPlace(options.store, options.uri, interrupt.get()));
  if (options.retains() && options.leftovers) {
    return Status::InvalidArgument("--leftovers goes with none of the --keep options: call it by itself");
  }
  if (options.retains()) {
    return Retain(options, place);
  }
  if (options.leftovers) {
    return Sweep(options, place);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<checkpoint::Found> found, checkpoint::FindCheckpoint(place));
  if (!found) {
    return checkpoint::NoCheckpoint(place);
  }
  if (!options.dry_run) {
    ASSAY_RETURN_IF_ERROR(checkpoint::RemoveCheckpoint(*found));
  }
  Tell(options, place.uri());
  return Status::Ok();
}

}  // namespace

Action AddCheckpointRm(CLI::App& app) {
  auto options = std::make_shared<CheckpointRmOptions>();
  app.add_option("uri", options->uri, "The checkpoint, or with --keep and --leftovers what is above many")->required();
  app.add_option("--keep", options->keep.keep_last, "Remove all saves of ours under it but the last N, by step")
      ->check(CLI::PositiveNumber);
  app.add_option("--keep-best", options->keep.keep_best, "Keep the best N as well, by --metric")
      ->check(CLI::PositiveNumber);
  app.add_option("--metric", options->keep.metric, "Of the manifests: the lowest is the best")->default_val("loss");
  app.add_flag("--highest", options->keep.highest_is_best, "The highest metric is the best");
  app.add_flag("--leftovers", options->leftovers, "Remove what saves that were killed left under it");
  app.add_option("--older-than", options->older_than_hours, "Hours: younger leftovers may be of a save that still runs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--dry-run,--dryrun", options->dry_run, "Print what would be removed, remove nothing");
  app.add_flag("-q,--quiet", options->quiet, "Print failures only");
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return RemoveRun(*options); }); };
}

}  // namespace assay::cli
