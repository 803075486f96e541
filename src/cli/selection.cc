#include "cli/selection.h"

#include "cli/options.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/explore.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

void AddSelectionOptions(CLI::App& app, Selection& selection) {
  app.add_option("space", selection.space, "Discovery space (YAML)")->type_name("SPACE.yaml");
  app.add_option("--experiment", selection.experiment, "All measurements of this experiment instead")
      ->type_name("ID")
      ->excludes("space");
  AddStoreOption(app, selection.store);
}

Result<std::vector<samplestore::Measurement>> Select(const Selection& selection, bool with_series) {
  if (selection.space.empty() && selection.experiment.empty()) {
    return Status::InvalidArgument("say what to show: a SPACE.yaml, or --experiment ID");
  }
  ASSAY_ASSIGN_OR_RETURN(const auto store,
                         samplestore::OpenStore(selection.store, samplestore::StoreAccess::kReadOnly));
  if (!selection.space.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const experiment::BoundSpace space, experiment::ReadBoundSpace(selection.space));
    return explore::MeasurementsOf(space, *store);
  }
  ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(selection.experiment));
  samplestore::MeasurementFilter filter;
  filter.experiment = experiment->id();
  return store->List(filter, with_series);
}

}  // namespace assay::cli
