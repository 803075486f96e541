#include "explore/explore.h"

#include "explore/exploration.h"

namespace assay::explore {

Result<ExploreSummary> Explore(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                               const ExploreOptions& options, const ExploreCallbacks& callbacks) {
  return Exploration(space, store, options, callbacks).Run();
}

}  // namespace assay::explore
