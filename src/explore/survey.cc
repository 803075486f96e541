#include "explore/survey.h"

#include "base/subprocess.h"
#include "explore/exploration.h"

namespace assay::explore {
namespace {

/// `round` of the repeats, from 0. What the first one finds forbidden is not judged again by those behind it.
Result<Prospect> ProspectOf(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                            const MeasureOptions& options, int64_t round) {
  const bool allowed = point.experiment->Check(point.complete).valid();
  if (options.replay) {
    ASSAY_ASSIGN_OR_RETURN(const bool measured, store.IsMeasured({point.parameterized_id, point.entity_id}, round + 1,
                                                                 FactsHere(point, options)));
    if (measured || (!allowed && round > 0)) {
      return Prospect::kReplay;
    }
  }
  return allowed ? Prospect::kMeasure : Prospect::kForbid;
}

}  // namespace

Result<Survey> SurveySpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                           const ExploreOptions& options,
                           const std::function<void(const experiment::BoundPoint&, Prospect)>& visit) {
  const ExploreOptions complete = Completed(options);
  const int64_t total = space.size() * complete.repeats;
  Survey survey;
  for (int64_t number = 0; number < total; ++number) {
    if (complete.max_points >= 0 && survey.missing + survey.forbidden >= complete.max_points) {
      survey.not_looked_at = total - number;
      break;
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the space was looked at");
    }
    const experiment::BoundPoint point = space.At(number % space.size());
    ASSAY_ASSIGN_OR_RETURN(const Prospect prospect, ProspectOf(point, store, complete.measure, number / space.size()));
    ++(prospect == Prospect::kReplay   ? survey.replayed
       : prospect == Prospect::kForbid ? survey.forbidden
                                       : survey.missing);
    if (visit) {
      visit(point, prospect);
    }
  }
  return survey;
}

}  // namespace assay::explore
