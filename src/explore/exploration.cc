#include "explore/exploration.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "explore/live_writer.h"
#include "measure/machine.h"

namespace assay::explore {
namespace {

constexpr auto kBusyPause = std::chrono::milliseconds(200);
constexpr int kUserMistake = 2;
constexpr int kMostMoves = 3;  // of a point whose machine was lost, to others

int64_t Finished(const ExploreSummary& summary) {
  return summary.measured + summary.invalid + summary.failed + summary.replayed + summary.ended_early + summary.spared;
}

}  // namespace

int64_t LooksIn(int64_t round_size, int64_t repeats) {
  int64_t looks = 0;
  return __builtin_mul_overflow(round_size, repeats, &looks) ? std::numeric_limits<int64_t>::max() : looks;
}

ExploreOptions Completed(ExploreOptions options) {
  options.workers = std::max(1, options.workers);
  options.repeats = std::max(1, options.repeats);
  if (options.until) {
    options.until->at_most = options.repeats;
    options.measure.repeats_at_most = options.repeats;
  }
  if (options.early_stop) {
    options.measure.early_rule = Describe(*options.early_stop);
  }
  const bool shared = options.measure.context.runs_here();  // by points at once
  options.measure.points_at_once = shared ? options.workers : 1;
  if (!options.measure.host) {
    options.measure.host = std::make_shared<const Host>(Host::Look(/*look_for_gpus=*/true));
  }
  if (shared && options.workers > 1 && options.measure.context.threads == 0) {
    options.measure.context.threads = std::max<int64_t>(1, measure::UsableCores() / options.workers);
  }
  return options;
}

Exploration::Exploration(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                         const ExploreOptions& options, const ExploreCallbacks& callbacks)
    : space_(space), store_(store), options_(Completed(options)), callbacks_(callbacks) {
  summary_.operation_uid = RandomUid();
  options_.measure.operation_uid = summary_.operation_uid;
  for (size_t i = 0; options_.early_stop && i < space_.experiments().size(); ++i) {
    early_stops_.emplace_back(*options_.early_stop);
  }
}

Result<ExploreSummary> Exploration::Run() {
  const double start = MonotonicSeconds();
  const std::string name = space_.space().name.empty() ? space_.space().source : space_.space().name;
  const std::string owner = samplestore::MakeClaimOwner();
  ASSAY_RETURN_IF_ERROR(store_.StartOperation({.uid = summary_.operation_uid,
                                               .kind = "explore",
                                               .space = name,
                                               .started_at = UtcTimestamp(),
                                               .finished_at = "",
                                               .exit_state = "",
                                               .owner = owner,
                                               .details = options_.details}));
  // A cluster has room for more than there may be to do.
  const auto workers =
      static_cast<int>(std::min({int64_t{options_.workers}, std::max<int64_t>(1, total()), kMostAtOnce}));
  LiveWriter live(store_, summary_.operation_uid, owner, LiveState(space_, total(), workers));
  callbacks_ = live.Watching(callbacks_);
  std::vector<std::jthread> threads;
  for (int i = 1; i < workers; ++i) {
    threads.emplace_back([this] { Work(); });
  }
  Work();
  threads.clear();
  summary_.seconds = MonotonicSeconds() - start;
  summary_.interrupted = InterruptRequested();
  summary_.remaining = total() - Finished(summary_);
  const Status kept = KeepEndings();
  const Status finished = store_.FinishOperation(summary_.operation_uid, ExitState());
  // What ended the operation comes first: a store that failed fails here too.
  ASSAY_RETURN_IF_ERROR(error_);
  ASSAY_RETURN_IF_ERROR(kept);
  ASSAY_RETURN_IF_ERROR(finished);
  return summary_;
}

Status Exploration::KeepEndings() {
  const std::string details = endings_.AddedTo(options_.details, space_, options_.repeats);
  return details == options_.details ? Status::Ok() : store_.SetDetails(summary_.operation_uid, details);
}

std::string_view Exploration::ExitState() const {
  if (summary_.interrupted) {
    return "interrupted";
  }
  return error_.ok() && summary_.failed == 0 && summary_.stopped_by.ok() ? "success" : "fail";
}

void Exploration::Work() {
  while (const std::optional<Task> task = NextTask()) {
    if (const Status status = Handle(*task); !status.ok()) {
      StopWith(status);
    }
  }
}

std::optional<Exploration::Task> Exploration::NextTask() {
  const std::lock_guard lock(mutex_);
  if (InterruptRequested() || !error_.ok() || !summary_.stopped_by.ok() || limit_reached_ || summary_.settled) {
    return std::nullopt;
  }
  while (next_task_ < total()) {
    const int64_t number = next_task_++;
    const std::optional<int64_t> index = IndexOf(number);
    if (!index) {
      break;
    }
    if (!complete_.contains(*index)) {
      return Task{.index = *index, .number = number, .round = number / round_size()};
    }
    ++summary_.spared;
  }
  if (deferred_.empty()) {
    return std::nullopt;
  }
  const Task task = deferred_.front();
  deferred_.pop_front();
  return task;
}

int64_t Exploration::round_size() const {
  return options_.budget < 0 ? space_.size() : std::min(options_.budget, space_.size());
}

std::optional<int64_t> Exploration::IndexOf(int64_t number) {
  if (!options_.sampler) {
    return number % round_size();
  }
  if (number < round_size()) {
    const std::optional<int64_t> index = options_.sampler->Next();
    if (index) {
      given_.push_back(*index);
    }
    return index;
  }
  return given_[static_cast<size_t>(number % round_size())];
}

std::vector<double> Exploration::ObjectivesOf(const PointResult& result) const {
  const bool valid = result.measurement.outcome == samplestore::Outcome::kValid;
  return valid && options_.sampler && options_.objectives ? options_.objectives(result.measurement)
                                                          : std::vector<double>();
}

void Exploration::TellSampler(const Task& task, const std::vector<double>& objectives) {
  if (!options_.sampler || task.round > 0) {
    return;
  }
  options_.sampler->Tell(task.index, objectives);
  const auto as_good = [&](const std::vector<double>& other) {
    return std::ranges::equal(other, objectives, [](double a, double b) { return a <= b; });
  };
  const bool gain = !objectives.empty() && std::ranges::none_of(best_, as_good);
  if (gain) {
    best_.push_back(objectives);
  }
  without_gain_ = gain ? 0 : without_gain_ + 1;
  summary_.settled = options_.patience >= 0 && without_gain_ >= options_.patience;
}

Status Exploration::Handle(const Task& task) {
  const experiment::BoundPoint point = space_.At(task.index);
  if (options_.measure.replay) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<PointResult> replayed, ReplayPoint(point, store_, OptionsFor(task)));
    if (replayed) {
      Finish(task, point, *replayed);
      return LookAtMean(task, point);
    }
  }
  if (task.again) {
    std::this_thread::sleep_for(kBusyPause);
  }
  return ReserveMeasurement(task) ? Measure(task, point) : Status::Ok();
}

Status Exploration::Measure(const Task& task, const experiment::BoundPoint& point) {
  if (!task.again) {
    Tell(callbacks_.on_start, task, point);
  }
  const Result<PointResult> result = MeasureWithRetries(point, OptionsFor(task));
  if (!result.ok()) {
    ReturnReservation();
    return result.status();
  }
  if (result->source != Source::kMeasured) {
    ReturnReservation();
  }
  if (result->source == Source::kBusy || result->source == Source::kRefused) {
    Tell(callbacks_.on_busy, task, point);
    Defer(task);
    return Status::Ok();
  }
  Finish(task, point, *result);
  StopOnCommonMistake(*result);
  return LookAtMean(task, point);
}

Status Exploration::LookAtMean(const Task& task, const experiment::BoundPoint& point) {
  if (!options_.until || task.round + 1 < measure::kFewestForInterval) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<RepeatedMean> mean,
                         LookAtPoint(point, store_, OptionsFor(task), *options_.until));
  if (!mean || (!mean->narrow && task.round + 1 < options_.repeats)) {
    return Status::Ok();
  }
  {
    const std::lock_guard lock(mutex_);
    if (mean->narrow && !complete_.insert(task.index).second) {
      return Status::Ok();
    }
    ++(mean->narrow ? summary_.narrow : summary_.wide);
    endings_.AddMean(task.index, *mean);
  }
  if (callbacks_.on_mean) {
    const std::lock_guard lock(callback_mutex_);
    callbacks_.on_mean({&point, &*mean});
  }
  return Status::Ok();
}

Result<PointResult> Exploration::MeasureWithRetries(const experiment::BoundPoint& point,
                                                    const MeasureOptions& options) {
  Result<PointResult> result = MeasurePoint(point, store_, options);
  int retries = options_.retries;
  int moves = kMostMoves;
  while (true) {
    const bool failed = result.ok() && result->source == Source::kMeasured &&
                        result->measurement.outcome == samplestore::Outcome::kFailed &&
                        !EndedEarly(result->measurement);
    // A mistake of the user's does not go away by itself.
    if (!failed || ExitCode(result->cause) == kUserMistake || InterruptRequested()) {
      return result;
    }
    int& left = result->machine_lost ? moves : retries;
    if (left-- == 0) {
      return result;
    }
    result = MeasurePoint(point, store_, options);
  }
}

void Exploration::Tell(const std::function<void(const PointStart&)>& callback, const Task& task,
                       const experiment::BoundPoint& point) const {
  if (callback) {
    const std::lock_guard lock(callback_mutex_);
    callback({task.index, task.number + 1, total(), &point});
  }
}

EarlyStop* Exploration::EarlyStopOf(const Task& task) {
  const bool may_end = !early_stops_.empty() && task.round == 0;
  return may_end ? &early_stops_[static_cast<size_t>(task.index) % early_stops_.size()] : nullptr;
}

MeasureOptions Exploration::OptionsFor(const Task& task) {
  MeasureOptions options = options_.measure;
  options.wanted = task.round + 1;
  if (EarlyStop* const early_stop = EarlyStopOf(task)) {
    options.ends_early = [early_stop, index = task.index](const job::Step& step) {
      return early_stop->OnStep(index, step);
    };
  }
  options.launch.on_event = [this, index = task.index,
                             inner = options_.measure.launch.on_event](const job::Event& event) {
    const std::lock_guard lock(callback_mutex_);
    if (inner) {
      inner(event);
    }
    if (callbacks_.on_event) {
      callbacks_.on_event(index, event);
    }
  };
  return options;
}

bool Exploration::ReserveMeasurement(const Task& task) {
  const std::lock_guard lock(mutex_);
  if (options_.max_points >= 0 && reserved_ >= options_.max_points) {
    limit_reached_ = true;
    deferred_.push_back(task);
    return false;
  }
  ++reserved_;
  return true;
}

void Exploration::ReturnReservation() {
  const std::lock_guard lock(mutex_);
  --reserved_;
  // The thread that returns it goes on, and may use it for what was refused meanwhile.
  limit_reached_ = false;
}

void Exploration::Finish(const Task& task, const experiment::BoundPoint& point, const PointResult& result) {
  PointDone done;
  if (EarlyStop* const early_stop = EarlyStopOf(task)) {
    early_stop->OnDone(task.index, result);
  }
  const std::vector<double> objectives = task.round == 0 ? ObjectivesOf(result) : std::vector<double>();
  {
    const std::lock_guard lock(mutex_);
    Count(result);
    endings_.Add(task.index, result);
    if (EndedEarly(result.measurement) && !options_.measure.replay) {
      complete_.insert(task.index);  // in a replay each of the others is that one again
    }
    TellSampler(task, objectives);
    done = {task.index, Finished(summary_), total(), &point, &result};
  }
  if (callbacks_.on_done) {
    const std::lock_guard lock(callback_mutex_);
    callbacks_.on_done(done);
  }
}

void Exploration::Count(const PointResult& result) {
  if (result.source == Source::kReplayed) {
    ++summary_.replayed;
    return;
  }
  switch (result.measurement.outcome) {
    case samplestore::Outcome::kValid:
      ++summary_.measured;
      return;
    case samplestore::Outcome::kInvalid:
      ++summary_.invalid;
      return;
    case samplestore::Outcome::kFailed:
      ++(EndedEarly(result.measurement) ? summary_.ended_early : summary_.failed);
      return;
  }
}

void Exploration::StopOnCommonMistake(const PointResult& result) {
  if (ExitCode(result.cause) != kUserMistake) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (summary_.measured > 0 || looked_for_common_mistake_) {
    return;
  }
  looked_for_common_mistake_ = true;
  if (!AnyPointHasItsInputs()) {
    summary_.stopped_by = result.cause;
  }
}

bool Exploration::AnyPointHasItsInputs() const {
  constexpr int64_t kMostProbed = 1000;
  for (int64_t index = 0; index < std::min(space_.size(), kMostProbed); ++index) {
    const experiment::BoundPoint point = space_.At(index);
    if (point.experiment->Check(point.complete).valid() &&
        point.experiment->CheckInputs(point.complete, options_.measure.context).ok()) {
      return true;
    }
  }
  return false;
}

void Exploration::Defer(const Task& task) {
  const std::lock_guard lock(mutex_);
  deferred_.push_back({.index = task.index, .number = task.number, .round = task.round, .again = true});
}

void Exploration::StopWith(const Status& status) {
  const std::lock_guard lock(mutex_);
  // An interrupt ends the operation by itself, and is no error.
  if (error_.ok() && status.code() != ErrorCode::kAborted) {
    error_ = status;
  }
}

}  // namespace assay::explore
