#include "serve/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "explore/space_measurements.h"
#include "report/format.h"
#include "report/metric.h"

namespace assay::serve {
namespace {

using samplestore::Measurement;
using samplestore::SampleStore;

/// A view over them is made in about half a second.
constexpr int64_t kMostOfExperiment = 3'000;

class ExperimentSubject : public Subject {
 public:
  explicit ExperimentSubject(const experiment::Experiment& experiment) : id_(experiment.id()) {}

  Result<bool> Refresh(SampleStore& store, int64_t newest) override {
    samplestore::MeasurementFilter filter{.experiment = id_, .after = last_, .before = newest + 1};
    if (last_ == 0) {
      filter.newest_first = true;
      filter.limit = kMostOfExperiment + 1;  // to know whether there are more
    }
    std::vector<Measurement> added;
    ASSAY_RETURN_IF_ERROR(store.ForEach(filter, /*with_series=*/true, [&](Measurement&& measurement) {
      report::CondenseSeries(measurement);
      added.push_back(std::move(measurement));
      return Status::Ok();
    }));
    if (added.empty()) {
      return false;
    }
    if (last_ == 0) {
      std::ranges::reverse(added);
    }
    last_ = added.back().arrival;
    std::ranges::move(added, std::back_inserter(measurements_));
    const auto excess = std::max<int64_t>(0, std::ssize(measurements_) - kMostOfExperiment);
    measurements_.erase(measurements_.begin(), measurements_.begin() + excess);
    are_more_ = are_more_ || excess > 0;
    return true;
  }

  report::ReportInput Input() override {
    description_ = are_more_ ? fmt::format("The newest {}: a space shows what it asks for, however much there is.",
                                           report::Count(measurements_.size(), "measurement"))
                             : "";
    return {.title = id_, .space_description = description_, .measurements = measurements_};
  }

 private:
  const std::string id_;
  std::vector<Measurement> measurements_;
  std::string description_;
  bool are_more_ = false;
  int64_t last_ = 0;
};

class SpaceSubject : public Subject {
 public:
  explicit SpaceSubject(const experiment::BoundSpace& space) : space_(space) {}

  Result<bool> Refresh(SampleStore& store, int64_t newest) override {
    const bool is_first = last_ == 0;
    ASSAY_ASSIGN_OR_RETURN(bool changed, is_first ? ReadAll(store, newest) : ReadNew(store, newest));
    last_ = newest;
    if (changed || is_first) {
      Count();
    }
    return changed || is_first;
  }

  report::ReportInput Input() override {
    return {.title = TitleOf(space_),
            .space_description = space_.space().description,
            .measurements = counted_,
            .planned_points = static_cast<size_t>(space_.size()),
            .unmeasured = unmeasured_};
  }

 private:
  void Add(int64_t index, Measurement measurement) {
    report::CondenseSeries(measurement);
    runs_[index].push_back(std::move(measurement));
  }

  Result<bool> ReadAll(SampleStore& store, int64_t newest) {
    ASSAY_ASSIGN_OR_RETURN(const auto points, explore::PointsInStore(space_, store));
    for (const auto& [index, key] : points) {
      const samplestore::MeasurementFilter filter{
          .parameterized_id = key.parameterized_id, .entity_id = key.entity_id, .before = newest + 1};
      ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> runs, store.List(filter, /*with_series=*/true));
      for (Measurement& run : runs) {
        Add(index, std::move(run));
      }
    }
    return !points.empty();
  }

  Result<bool> ReadNew(SampleStore& store, int64_t newest) {
    bool changed = false;
    for (int64_t i = 0; i < std::ssize(space_.experiments()); ++i) {
      const samplestore::MeasurementFilter filter{
          .parameterized_id = space_.parameterized_id(i), .after = last_, .before = newest + 1};
      ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> runs, store.List(filter, /*with_series=*/true));
      for (Measurement& run : runs) {
        if (const auto index = space_.IndexOf(run.parameterized_id, run.entity)) {
          Add(*index, std::move(run));
          changed = true;
        }
      }
    }
    return changed;
  }

  void Count() {
    counted_.clear();
    for (const auto& [index, runs] : runs_) {
      std::ranges::move(explore::RunsThatCount(runs), std::back_inserter(counted_));
    }
    unmeasured_ = report::UnmeasuredPointsOf(explore::UnmeasuredOf(space_, counted_));
  }

  const experiment::BoundSpace& space_;
  std::map<int64_t, std::vector<Measurement>> runs_;  ///< by place in the space
  std::vector<Measurement> counted_;
  std::vector<report::UnmeasuredPoint> unmeasured_;
  int64_t last_ = 0;
};

}  // namespace

std::unique_ptr<Subject> OfExperiment(const experiment::Experiment& experiment) {
  return std::make_unique<ExperimentSubject>(experiment);
}

std::unique_ptr<Subject> OfSpace(const experiment::BoundSpace& space) {
  return std::make_unique<SpaceSubject>(space);
}

std::string TitleOf(const experiment::BoundSpace& space) {
  return space.space().name.empty() ? space.space().source : space.space().name;
}

std::string SpaceSubjectId(const experiment::BoundSpace& space) {
  const experiment::BoundPoint last = space.At(space.size() - 1);
  const std::string asked = fmt::format("{}\n{}\n{}\n{}\n{}", TitleOf(space), space.size(), space.At(0).entity_id,
                                        last.entity_id, last.parameterized_id);
  return "space-" + Sha256Hex(asked).substr(0, 16);
}

}  // namespace assay::serve
