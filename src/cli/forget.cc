// assay forget: removes measurements from a store.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "base/subprocess.h"
#include "cli/options.h"
#include "cli/space_store.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/space_measurements.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

struct ForgetOptions {
  std::string space;
  std::string experiment;
  std::string uid;
  std::string outcome;
  std::string store;
  bool dry_run = false;
};

/// What the options say of any measurement.
Result<samplestore::MeasurementFilter> FilterOf(const ForgetOptions& options) {
  samplestore::MeasurementFilter filter;
  filter.uid = options.uid;
  if (!options.outcome.empty()) {
    ASSAY_ASSIGN_OR_RETURN(filter.outcome, samplestore::OutcomeFromString(options.outcome));
  }
  if (!options.experiment.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(options.experiment));
    filter.experiment = experiment->id();
  }
  if (options.space.empty() && filter.uid.empty() && filter.experiment.empty() && !filter.outcome) {
    return Status::InvalidArgument("say what to forget: a SPACE.yaml, --experiment ID, --outcome NAME or --uid UID");
  }
  return filter;
}

/// Of the points of a space that the store has; `forget` counts what it removed.
Result<int64_t> ForgetSpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                            samplestore::MeasurementFilter filter,
                            const std::function<Result<int64_t>(const samplestore::MeasurementFilter&)>& forget) {
  ASSAY_ASSIGN_OR_RETURN(const auto points, explore::PointsInStore(space, store));
  int64_t count = 0;
  for (const auto& [index, key] : points) {
    if (InterruptRequested()) {
      return Status::Aborted(fmt::format("interrupted after {} measurements", count));
    }
    filter.parameterized_id = key.parameterized_id;
    filter.entity_id = key.entity_id;
    ASSAY_ASSIGN_OR_RETURN(const int64_t found, forget(filter));
    count += found;
  }
  return count;
}

Status Run(const ForgetOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::MeasurementFilter filter, FilterOf(options));
  // A store that is not there is not made.
  ASSAY_ASSIGN_OR_RETURN(auto store, OpenUserStore(options.store, samplestore::StoreAccess::kReadOnly));
  if (!options.dry_run) {
    ASSAY_ASSIGN_OR_RETURN(store, OpenUserStore(options.store));
  }
  const auto forget = [&](const samplestore::MeasurementFilter& of) {
    return options.dry_run ? store->Count(of) : store->Remove(of);
  };
  int64_t count = 0;
  if (options.space.empty()) {
    ASSAY_ASSIGN_OR_RETURN(count, forget(filter));
  } else {
    ASSAY_ASSIGN_OR_RETURN(const experiment::BoundSpace space, experiment::ReadBoundSpace(options.space));
    ASSAY_ASSIGN_OR_RETURN(count, ForgetSpace(space, *store, filter, forget));
  }
  fmt::print("{} measurement{} {}\n", count, count == 1 ? "" : "s", options.dry_run ? "would be removed" : "removed");
  return Status::Ok();
}

}  // namespace

Action AddForget(CLI::App& app) {
  auto options = std::make_shared<ForgetOptions>();
  app.add_option("space", options->space, "Forget the measurements of this space's points (YAML)")
      ->type_name("SPACE.yaml");
  app.add_option("--experiment", options->experiment, "Forget those of this experiment")->type_name("ID");
  app.add_option("--outcome", options->outcome, "Of these, only those that are valid, invalid or failed")
      ->check(CLI::IsMember({"valid", "invalid", "failed"}));
  app.add_option("--uid", options->uid, "Of these, only the one with this uid")->type_name("UID");
  app.add_flag("--dry-run", options->dry_run, "Only say how many there are");
  AddStoreOption(app, options->store);
  return [options]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(options->store, StoreOfSpace(options->store, options->space));
    return Run(*options);
  };
}

}  // namespace assay::cli
