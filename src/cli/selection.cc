#include "cli/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

#include "base/subprocess.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/space_store.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "explore/space_measurements.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

using samplestore::Measurement;

/// Measurements whose provenance `key` is one of `wanted`, or begins with one.
class Wanted {
 public:
  Wanted(const char* key, std::vector<std::string> wanted, bool whole)
      : key_(key), wanted_(std::move(wanted)), whole_(whole) {}

  bool Keeps(const Measurement& measurement) {
    if (wanted_.empty()) {
      return true;
    }
    const auto found = measurement.provenance.find(key_);
    const std::string value = found == measurement.provenance.end() ? "" : found->second;
    const bool kept = std::ranges::any_of(
        wanted_, [&](const std::string& text) { return whole_ ? value == text : value.starts_with(text); });
    kept_any_ = kept_any_ || kept;
    if (!kept && !value.empty()) {
      others_.insert(value);
    }
    return kept;
  }

  /// The error where there were measurements, all of others.
  Status Check() const {
    return kept_any_ || others_.empty()
               ? Status::Ok()
               : Status::NotFound(fmt::format("nothing of this was measured with {} {}: there is {}", key_,
                                              Join(wanted_, " or "), Join({others_.begin(), others_.end()}, ", ")));
  }

 private:
  const char* key_;
  std::vector<std::string> wanted_;
  bool whole_;
  bool kept_any_ = false;
  std::set<std::string> others_;
};

/// What the selection's host, machines and commit have measured.
class WantedMeasurements {
 public:
  explicit WantedMeasurements(const Selection& selection)
      : wanted_{Wanted("host", Given(selection.host), /*whole=*/true),
                Wanted("machine", selection.machines, /*whole=*/true),
                Wanted("commit", Given(selection.commit), /*whole=*/false)} {}

  bool Keeps(const Measurement& measurement) {
    return std::ranges::all_of(wanted_, [&](Wanted& wanted) { return wanted.Keeps(measurement); });
  }

  Status Check() const {
    for (const Wanted& wanted : wanted_) {
      ASSAY_RETURN_IF_ERROR(wanted.Check());
    }
    return Status::Ok();
  }

 private:
  static std::vector<std::string> Given(const std::string& text) {
    return text.empty() ? std::vector<std::string>() : std::vector{text};
  }

  std::array<Wanted, 3> wanted_;
};

Status KeepSelected(const Selection& selection, std::vector<Measurement>& measurements) {
  WantedMeasurements wanted(selection);
  std::erase_if(measurements, [&](const Measurement& measurement) { return !wanted.Keeps(measurement); });
  return wanted.Check();
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

Result<samplestore::MeasurementFilter> FilterOf(const Selection& selection) {
  samplestore::MeasurementFilter filter;
  if (!selection.experiment.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(selection.experiment));
    filter.experiment = experiment->id();
  }
  return filter;
}

Result<Selected> SelectExperiment(const Selection& selection, samplestore::SampleStore& store, bool with_series) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::MeasurementFilter filter, FilterOf(selection));
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

Status CheckSelection(const Selection& selection) {
  return selection.space.empty() && selection.experiment.empty() && !selection.all
             ? Status::InvalidArgument("say what to show: a SPACE.yaml, or --experiment ID")
             : Status::Ok();
}

Result<Selected> Select(const Selection& selection, bool with_series) {
  ASSAY_RETURN_IF_ERROR(CheckSelection(selection));
  ASSAY_ASSIGN_OR_RETURN(const std::string url, StoreOfSpace(selection.store, selection.space));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(url, samplestore::StoreAccess::kReadOnly));
  return selection.space.empty() ? SelectExperiment(selection, *store, with_series)
                                 : SelectSpace(selection, *store, with_series);
}

Status ForEachOfExperiment(const Selection& selection, samplestore::SampleStore& store, int64_t before,
                           bool with_series, const std::function<Status(const Measurement&)>& visit) {
  ASSAY_ASSIGN_OR_RETURN(samplestore::MeasurementFilter filter, FilterOf(selection));
  filter.before = before;
  WantedMeasurements wanted(selection);
  ASSAY_RETURN_IF_ERROR(store.ForEach(filter, with_series, [&](const Measurement& measurement) {
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the store was read");
    }
    return wanted.Keeps(measurement) ? visit(measurement) : Status::Ok();
  }));
  return wanted.Check();
}

Result<Newest> NewestOfExperiment(const Selection& selection, samplestore::SampleStore& store, int64_t limit) {
  Newest newest;
  if (selection.host.empty() && selection.machines.empty() && selection.commit.empty()) {
    ASSAY_ASSIGN_OR_RETURN(samplestore::MeasurementFilter filter, FilterOf(selection));
    ASSAY_ASSIGN_OR_RETURN(newest.count, store.Count(filter));
    filter.newest_first = true;
    filter.limit = limit;
    ASSAY_ASSIGN_OR_RETURN(newest.measurements, store.List(filter, /*with_series=*/false));
    std::ranges::reverse(newest.measurements);
    return newest;
  }
  std::deque<Measurement> last;
  ASSAY_RETURN_IF_ERROR(
      ForEachOfExperiment(selection, store, 0, /*with_series=*/false, [&](const Measurement& measurement) {
        ++newest.count;
        last.push_back(measurement);
        if (std::ssize(last) > limit) {
          last.pop_front();
        }
        return Status::Ok();
      }));
  newest.measurements.assign(std::make_move_iterator(last.begin()), std::make_move_iterator(last.end()));
  return newest;
}

}  // namespace assay::cli
