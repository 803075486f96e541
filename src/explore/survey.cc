#include "explore/survey.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/subprocess.h"
#include "explore/exploration.h"

namespace assay::explore {
namespace {

/// Whether `round` of the repeats, from 0, would find `point` measured.
Result<bool> IsReplayed(const experiment::BoundPoint& point, bool allowed, samplestore::SampleStore& store,
                        const MeasureOptions& options, int64_t round) {
  if (!options.replay) {
    return false;
  }
  const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
  const samplestore::Facts here = FactsHere(point, options);
  ASSAY_ASSIGN_OR_RETURN(const bool measured, store.IsMeasured(key, round + 1, here));
  if (measured || allowed || round == 0) {
    return measured;
  }
  // What is forbidden was judged by the first round that found it missing, and is invalid for those behind it.
  ASSAY_ASSIGN_OR_RETURN(const bool measured_before, store.IsMeasured(key, round, here));
  return !measured_before;
}

/// Whether the runs that the store has end the repeats of `point` before `round`.
Result<bool> IsNarrow(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                      const ExploreOptions& options, int64_t round) {
  if (!options.until || round < measure::kFewestForInterval) {
    return false;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<RepeatedMean> mean,
                         LookAtPoint(point, store, options.measure, *options.until));
  return mean && mean->narrow;
}

Result<Prospect> ProspectOf(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                            const ExploreOptions& options, int64_t round) {
  const bool allowed = point.experiment->Check(point.complete).valid();
  ASSAY_ASSIGN_OR_RETURN(bool replayed, IsReplayed(point, allowed, store, options.measure, round));
  if (!replayed) {
    ASSAY_ASSIGN_OR_RETURN(replayed, IsNarrow(point, store, options, round));
  }
  if (!replayed && options.measure.replay) {
    ASSAY_ASSIGN_OR_RETURN(replayed, WasEndedEarly(point, store, options.measure));
  }
  return replayed ? Prospect::kReplay : allowed ? Prospect::kMeasure : Prospect::kForbid;
}

bool AtLimit(const Survey& survey, const ExploreOptions& options) {
  return options.max_points >= 0 && survey.missing + survey.forbidden >= options.max_points;
}

/// The points of one round, in the order in which they are looked at.
class Round {
 public:
  Round(const experiment::BoundSpace& space, const ExploreOptions& options)
      : size_(options.budget < 0 ? space.size() : std::min(options.budget, space.size())), sampler_(options.sampler) {}

  int64_t size() const { return size_; }

  /// In the first round each is asked for once, from the first on. Nothing: the sampler has no more.
  std::optional<int64_t> At(int64_t number) {
    if (!sampler_) {
      return number;
    }
    if (number == std::ssize(given_)) {
      const std::optional<int64_t> index = sampler_->Next();
      if (!index) {
        return std::nullopt;
      }
      given_.push_back(*index);
    }
    return given_[static_cast<size_t>(number)];
  }

 private:
  const int64_t size_;
  const std::shared_ptr<Sampler> sampler_;
  std::vector<int64_t> given_;
};

}  // namespace

Result<Survey> SurveySpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                           const ExploreOptions& options,
                           const std::function<void(const experiment::BoundPoint&, Prospect)>& visit) {
  const ExploreOptions complete = Completed(options);
  Round round(space, complete);
  const int64_t total = LooksIn(round.size(), complete.repeats);
  Survey survey;
  for (int64_t number = 0; number < total; ++number) {
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the space was looked at");
    }
    const std::optional<int64_t> index = round.At(number % round.size());
    if (!index) {
      break;
    }
    const experiment::BoundPoint point = space.At(*index);
    ASSAY_ASSIGN_OR_RETURN(const Prospect prospect, ProspectOf(point, store, complete, number / round.size()));
    if (prospect != Prospect::kReplay && AtLimit(survey, complete)) {
      survey.not_looked_at = total - number;
      break;
    }
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
