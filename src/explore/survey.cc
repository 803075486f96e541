#include "explore/survey.h"

#include "base/subprocess.h"

namespace assay::explore {
namespace {

Result<Prospect> ProspectOf(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                            const MeasureOptions& options) {
  if (options.replay) {
    ASSAY_ASSIGN_OR_RETURN(const bool measured, store.IsMeasured({point.parameterized_id, point.entity_id},
                                                                 options.wanted, FactsHere(point, options)));
    if (measured) {
      return Prospect::kReplay;
    }
  }
  return point.experiment->Check(point.complete).valid() ? Prospect::kMeasure : Prospect::kForbid;
}

}  // namespace

Result<Survey> SurveySpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                           const MeasureOptions& options, int64_t max_missing,
                           const std::function<void(const experiment::BoundPoint&, Prospect)>& visit) {
  MeasureOptions with_host = options;
  if (!with_host.host) {
    with_host.host = std::make_shared<const Host>(Host::Look(/*look_for_gpus=*/true));
  }
  Survey survey;
  for (int64_t index = 0; index < space.size(); ++index) {
    if (max_missing >= 0 && survey.missing >= max_missing) {
      survey.not_looked_at = space.size() - index;
      break;
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the space was looked at");
    }
    const experiment::BoundPoint point = space.At(index);
    ASSAY_ASSIGN_OR_RETURN(const Prospect prospect, ProspectOf(point, store, with_host));
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
