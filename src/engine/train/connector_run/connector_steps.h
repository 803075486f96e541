// The steps of a connector test, made in this process.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "engine/train/event_writer.h"
#include "engine/train/request_meter.h"
#include "engine/train/termination.h"
#include "job/connector_plan.h"
#include "job/event.h"
#include "shards/dataset/dataset.h"

namespace assay::engine {

/// A step ended otherwise than as done: the whole test ends so.
class StepEnded : public std::exception {
 public:
  explicit StepEnded(job::Ended ended) : ended_(std::move(ended)) {}
  const job::Ended& ended() const { return ended_; }

 private:
  job::Ended ended_;
};

/// Each writes its events, a ConnectorStep last, and throws StatusError, StepEnded or ControllerGone.
class ConnectorSteps {
 public:
  /// Of `plan`, which must live as long, as the others; what is local lies in `work_dir`. `cancel` ends what
  /// writes a data set; it may be null.
  ConnectorSteps(const job::ConnectorPlan& plan, std::string work_dir, EventWriter& events,
                 TerminationWatcher& termination, storage::CancelFlag cancel)
      : plan_(plan), work_dir_(std::move(work_dir)), events_(events), termination_(termination), cancel_(cancel) {}

  void optimise(const char* step, const char* name, const std::string& compression);
  void count(const char* step);
  /// One of job::kStepsOfTheirOwn; how its fine-tune ended, if it is one.
  job::Ended read(const std::string& step);

  /// That of the local fine-tune.
  void make_local_data();

 private:
  template <typename Work>
  void measure(const std::string& step, const Work& work);
  void stream(const std::string& step, const char* name);
  void fine_tune(const std::string& step, const std::string& checkpoints);
  void train(job::ConnectorStep& told, const std::string& data, const std::string& checkpoints,
             const std::string& cache);
  std::string copy(job::ConnectorStep& told, const std::string& name) const;
  std::string local_data() const { return work_dir_ + "/local/plain"; }
  /// Of a data set, which `cancel` ends the writing of.
  shards::DatasetPlace place_at(const std::string& uri) const;
  shards::DatasetPlace place(const std::string& name) const { return place_at(plan_.uri + "/" + name); }
  std::string cache_of(const std::string& step) const;
  bool copies_first() const { return plan_.connector == "assay-copy"; }

  const job::ConnectorPlan& plan_;
  const std::string work_dir_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  const storage::CancelFlag cancel_;
  const std::shared_ptr<RequestMeter> meter_ = std::make_shared<RequestMeter>();
  job::Ended trained_;
};

}  // namespace assay::engine
