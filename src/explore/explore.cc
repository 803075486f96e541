#include "explore/explore.h"

#include <utility>

#include "explore/exploration.h"

namespace assay::explore {

namespace {

std::string Provenance(const samplestore::Measurement& measurement, const char* name) {
  const auto found = measurement.provenance.find(name);
  return found == measurement.provenance.end() ? "" : found->second;
}

/// Adds the valid measurements of `newest`'s point that were made as it was, itself among them.
Status AddRepeats(const samplestore::Measurement& newest, samplestore::SampleStore& store,
                  std::vector<samplestore::Measurement>& measurements) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<samplestore::Measurement> runs,
                         store.List({.parameterized_id = newest.parameterized_id,
                                     .entity_id = newest.entity_id,
                                     .outcome = samplestore::Outcome::kValid},
                                    /*with_series=*/true));
  for (samplestore::Measurement& run : runs) {
    if (Provenance(run, "host") == Provenance(newest, "host") &&
        Provenance(run, "commit") == Provenance(newest, "commit")) {
      measurements.push_back(std::move(run));
    }
  }
  return Status::Ok();
}

}  // namespace

Result<ExploreSummary> Explore(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                               const ExploreOptions& options, const ExploreCallbacks& callbacks) {
  return Exploration(space, store, options, callbacks).Run();
}

Result<std::vector<samplestore::Measurement>> MeasurementsOf(const experiment::BoundSpace& space,
                                                             samplestore::SampleStore& store) {
  std::vector<samplestore::Measurement> measurements;
  for (int64_t index = 0; index < space.size(); ++index) {
    const experiment::BoundPoint point = space.At(index);
    const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
    ASSAY_ASSIGN_OR_RETURN(std::optional<samplestore::Measurement> found, store.FindMeasured(key));
    if (found && found->outcome == samplestore::Outcome::kValid) {
      ASSAY_RETURN_IF_ERROR(AddRepeats(*found, store, measurements));
      continue;
    }
    if (!found) {
      ASSAY_ASSIGN_OR_RETURN(found, store.FindLatest(key));
    }
    if (found) {
      measurements.push_back(*std::move(found));
    }
  }
  return measurements;
}

}  // namespace assay::explore
