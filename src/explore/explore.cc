#include "explore/explore.h"

#include "explore/exploration.h"

namespace assay::explore {

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
