#include "cli/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/options.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/space_measurements.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

using samplestore::Measurement;

/// Leaves the measurements whose provenance `key` begins with one of `wanted`; with `whole`, is one.
Status KeepOnly(const char* key, const std::vector<std::string>& wanted, bool whole,
                std::vector<Measurement>& measurements) {
  if (wanted.empty()) {
    return Status::Ok();
  }
  std::set<std::string> others;
  const auto differs = [&](const Measurement& measurement) {
    const auto found = measurement.provenance.find(key);
    const std::string value = found == measurement.provenance.end() ? "" : found->second;
    const bool kept = std::ranges::any_of(
        wanted, [&](const std::string& text) { return whole ? value == text : value.starts_with(text); });
    if (!kept && !value.empty()) {
      others.insert(value);
    }
    return !kept;
  };
  std::erase_if(measurements, differs);
  if (measurements.empty() && !others.empty()) {
    return Status::NotFound(fmt::format("nothing of this was measured with {} {}: there is {}", key,
                                        Join(wanted, " or "), Join({others.begin(), others.end()}, ", ")));
  }
  return Status::Ok();
}

/// Leaves what the selection's host, machines and commit have measured.
Status KeepSelected(const Selection& selection, std::vector<Measurement>& measurements) {
  const auto given = [](const std::string& text) {
    return text.empty() ? std::vector<std::string>() : std::vector{text};
  };
  ASSAY_RETURN_IF_ERROR(KeepOnly("host", given(selection.host), /*whole=*/true, measurements));
  ASSAY_RETURN_IF_ERROR(KeepOnly("machine", selection.machines, /*whole=*/true, measurements));
  return KeepOnly("commit", given(selection.commit), /*whole=*/false, measurements);
}

Result<Selected> SelectSpace(const Selection& selection, samplestore::SampleStore& store, bool with_series) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundSpace space, experiment::ReadBoundSpace(selection.space));
  Selected selected;
  ASSAY_ASSIGN_OR_RETURN(selected.measurements, explore::MeasurementsOf(space, store, with_series));
  selected.planned_points = space.size();
  selected.title = space.space().name.empty() ? selection.space : space.space().name;
  selected.description = space.space().description;
  ASSAY_RETURN_IF_ERROR(KeepSelected(selection, selected.measurements));
  selected.unmeasured = report::UnmeasuredPointsOf(explore::UnmeasuredOf(space, selected.measurements));
  return selected;
}

Result<Selected> SelectExperiment(const Selection& selection, samplestore::SampleStore& store, bool with_series) {
  samplestore::MeasurementFilter filter;
  if (!selection.experiment.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(selection.experiment));
    filter.experiment = experiment->id();
  }
  Selected selected;
  ASSAY_ASSIGN_OR_RETURN(selected.measurements, store.List(filter, with_series));
  selected.title = selection.experiment;
  ASSAY_RETURN_IF_ERROR(KeepSelected(selection, selected.measurements));
  return selected;
}

}  // namespace

void AddSelectionOptions(CLI::App& app, Selection& selection) {
  app.add_option("space", selection.space, "Discovery space (YAML)")->type_name("SPACE.yaml");
  app.add_option("--experiment", selection.experiment, "All measurements of this experiment instead")
      ->type_name("ID")
      ->excludes("space");
  app.add_option("--host", selection.host, "Only what was measured on this machine")->type_name("NAME");
  app.add_option("--commit", selection.commit, "Only what this commit of assay measured; its first characters will do")
      ->type_name("HASH");
  AddStoreOption(app, selection.store);
}

Result<Selected> Select(const Selection& selection, bool with_series) {
  if (selection.space.empty() && selection.experiment.empty() && !selection.all) {
    return Status::InvalidArgument("say what to show: a SPACE.yaml, or --experiment ID");
  }
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(selection.store, samplestore::StoreAccess::kReadOnly));
  return selection.space.empty() ? SelectExperiment(selection, *store, with_series)
                                 : SelectSpace(selection, *store, with_series);
}

}  // namespace assay::cli
