#include "engine/train/run_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/find.h"
#include "checkpoint/verify.h"
#include "engine/checkpoint/read_training.h"
#include "engine/model/status_error.h"
#include "engine/train/rank_agreement.h"
#include "engine/train/shared_work.h"

namespace assay::engine {
namespace {

/// What a killed save left is another run's while that may still be writing.
constexpr double kLeftoverSeconds = 3600;
/// What goes on beside the training may take its time before anybody is told.
constexpr double kBackgroundNoticeSeconds = 60;
constexpr char kYes[] = "yes";
constexpr char kNo[] = "no";

struct Damaged {
  int64_t step = 0;
  std::string uri;
  Status why;
};

/// Of `damaged`, what is no older than the last that stands is passed over, and stderr says why. Throws why the last
/// of them is damaged where nothing stands: whoever goes on does not mean to begin anew.
void pass_over(const std::vector<Damaged>& damaged, std::optional<int64_t> last_standing) {
  const auto last = std::ranges::max_element(damaged, {}, &Damaged::step);
  if (!last_standing && last != damaged.end()) {
    throw StatusError(last->why.WithContext(last->uri + " is damaged, and there is no other to go on from"));
  }
  for (const Damaged& one : damaged) {
    if (one.step >= *last_standing) {
      fmt::print(stderr, "assay-worker: {} is passed over: {}\n", one.uri, one.why.message());
    }
  }
}

/// Numbers that are finite, as a manifest has them.
std::map<std::string, double> metrics_of(const StepOver& over) {
  std::map<std::string, double> metrics = {{"loss", over.step.loss}};
  if (over.evaluation_loss) {
    const double loss = *over.evaluation_loss;
    metrics["eval_loss"] = std::isfinite(loss) ? loss : std::numeric_limits<double>::max();
  }
  return metrics;
}

checkpoint::RetentionOptions retention_of(const job::TrainingPlan& plan) {
  checkpoint::RetentionOptions keep;
  keep.keep_best = static_cast<int>(plan.keep_best);
  // A run goes on from the last, whatever its loss.
  keep.keep_last = static_cast<int>(std::max(plan.keep, plan.keep_best > 0 ? int64_t{1} : int64_t{0}));
  keep.metric = plan.keep_best_by;
  return keep;
}

}  // namespace

RunCheckpoints::RunCheckpoints(RunCheckpointParts parts)
    : parts_(std::move(parts)),
      output_(parts_.plan.output_dir, {.cancel = &is_given_up_, .observer = parts_.observer}) {
  if (parts_.plan.local_dir.empty()) {
    return;
  }
  local_.emplace(parts_.plan.local_dir, FolderOptions{.cancel = &is_given_up_});
  if (!local_->is_local() || !parts_.is_one_machine) {
    throw AgreedError(Status::InvalidArgument(fmt::format(
        "{}: checkpoints are written to a folder first where all ranks share one machine and it is on its disks (leave "
        "local_dir out)",
        local_->uri())));
  }
}

CheckpointRanks RunCheckpoints::ranks() {
  return {.world = parts_.world,
          .start = [this](const std::string& what, MostWork most, bool is_beside, std::function<void()> work) {
            const bool is_background = is_beside && copies();
            is_given_up_ = false;  // what was, is over
            Patience patience{.notice_seconds = is_background ? kBackgroundNoticeSeconds : Patience{}.notice_seconds,
                              .slack_seconds = most > 0 ? parts_.plan.timeout_seconds : 0,
                              .most_work = most,
                              .yields = is_background,
                              .give_up = [this] { is_given_up_ = true; }};
            return std::make_unique<SharedWork>(parts_.world, parts_.device, what, std::move(work),
                                                std::move(patience));
          }};
}

std::vector<const RunFolder*> RunCheckpoints::folders() const {
  return local_ ? std::vector<const RunFolder*>{&output_, &*local_} : std::vector<const RunFolder*>{&output_};
}

std::vector<RunCheckpoints::Standing> RunCheckpoints::look(std::set<int64_t>& damaged_steps) {
  const CheckpointRanks all = ranks();
  std::vector<std::pair<int64_t, bool>> standing;
  all.together("look for checkpoints in " + first_folder().uri(), [&] {
    std::vector<Damaged> damaged;
    for (const RunFolder* folder : all.is_first() ? folders() : std::vector<const RunFolder*>()) {
      const RunFolder::Standing in_folder = folder->look();
      for (const auto& [step, why] : in_folder.damaged_steps) {
        damaged_steps.insert(step);
        damaged.push_back({step, folder->place_of(step).uri(), why});
      }
      for (const int64_t step : in_folder.steps) {
        standing.emplace_back(step, folder != &output_);
      }
      if (!in_folder.has_damaged()) {
        folder->sweep(in_folder, kLeftoverSeconds);
      }
    }
    std::ranges::sort(standing, std::greater());
    if (parts_.plan.resume) {
      pass_over(damaged, standing.empty() ? std::nullopt : std::optional(standing.front().first));
    }
  });
  // Lists are the first rank's to believe: others may see less of what was just written.
  const nlohmann::json own = standing;
  std::vector<Standing> agreed;
  for (const auto& [step, is_local] : nlohmann::json::parse(all.tell(DumpJson(own), "the checkpoints").front())
                                          .get<std::vector<std::pair<int64_t, bool>>>()) {
    agreed.push_back({step, is_local});
  }
  return agreed;
}

TrainingPosition RunCheckpoints::begin() {
  std::set<int64_t> damaged_steps;
  std::vector<Standing> standing = look(damaged_steps);
  TrainingPosition position;
  if (!standing.empty()) {
    if (!parts_.plan.resume) {
      throw AgreedError(Status::InvalidArgument(fmt::format(
          "{} holds the checkpoint of step {} of a run: --resume goes on from there, a new run needs another folder",
          folder_of(standing.front()).uri(), standing.front().step)));
    }
    position = resume_from(standing, damaged_steps);
    remove_old({damaged_steps.upper_bound(position.counted), damaged_steps.end()});
  }
  saver_.emplace(first_folder(), ranks(),
                 TrainingSaverOptions{.copies = copies(),
                                      .replaced_steps = std::move(damaged_steps),
                                      .second = local_ ? &output_ : nullptr,
                                      .keep = retention_of(parts_.plan)});
  if (copies() && parts_.plan.save_every > 0) {
    const job::Step none;
    saver_->prepare(state_at({.position = position, .step = none, .evaluation_loss = {}, .last = false}),
                    parts_.training.held());
  }
  // Of one step in both folders the local one comes first.
  const bool is_copied = standing.size() > 1 && standing[1].step == standing[0].step;
  if (!standing.empty() && standing.front().is_local && !is_copied) {
    stall_seconds_ = 0;
    saver_->begin_copy(standing.front().step);
  }
  return position;
}

TrainingPosition RunCheckpoints::resume_from(std::vector<Standing>& standing, std::set<int64_t>& damaged_steps) {
  while (true) {
    const checkpoint::Place place = folder_of(standing.front()).place_of(standing.front().step);
    try {
      return resume(place);
    } catch (const StatusError& error) {
      if (standing.size() == 1 || !is_damaged(place, error.status())) {
        throw;
      }
    }
    damaged_steps.insert(standing.front().step);
    standing.erase(standing.begin());
  }
}

void RunCheckpoints::remove_old(const std::set<int64_t>& damaged_steps) {
  const checkpoint::RetentionOptions keep = retention_of(parts_.plan);
  if (keep.keep_last == 0) {
    return;
  }
  const CheckpointRanks all = ranks();
  all.together("remove old checkpoints in " + first_folder().uri(), [&] {
    for (const RunFolder* folder : all.is_first() ? folders() : std::vector<const RunFolder*>()) {
      folder->keep(keep, damaged_steps);
    }
  });
}

bool RunCheckpoints::is_damaged(const checkpoint::Place& place, const Status& failure) {
  const CheckpointRanks all = ranks();
  // Each rank reads bytes of its own: those that read well have no more than the word of one that did not.
  const bool is_of_bytes = failure.code() == ErrorCode::kIo;
  if (std::ranges::count(all.tell(is_of_bytes ? kYes : kNo, "whether bytes could not be read"), kYes) == 0) {
    return false;
  }
  std::string damage;
  all.together("verify " + place.uri(), [&] {
    if (!all.is_first()) {
      return;
    }
    const auto found = value_or_throw(checkpoint::FindCheckpoint(place));
    const std::vector<std::string> damages =
        found ? value_or_throw(checkpoint::Verify(*found, {}, /*most=*/1)).damages : std::vector<std::string>();
    damage = damages.empty() ? "" : damages.front();
  });
  if (!damage.empty()) {
    fmt::print(stderr, "assay-worker: {} is passed over: {}\n", place.uri(), damage);
  }
  return !all.tell(damage, "whether it is damaged").front().empty();
}

TrainingPosition RunCheckpoints::resume(const checkpoint::Place& place) {
  const double start = MonotonicSeconds();
  TrainingState state;
  const std::vector<HeldState> held = parts_.training.held();
  ranks().together("go on from " + place.uri(), [&] { state = read_training(place, parts_.settings, held); });
  if (LossScaler* scaler = parts_.training.loss_scaler(); scaler != nullptr && state.loss_scale) {
    scaler->restore(*state.loss_scale);
  }
  parts_.training.publish_masters();
  if (ranks().is_first()) {
    parts_.events.write(
        job::Resumed{.step = state.position.counted, .uri = place.uri(), .seconds = MonotonicSeconds() - start});
  }
  return state.position;
}

void RunCheckpoints::step_over(const StepOver& over) {
  await_copy();  // of a step that updated nothing
  if (saver_->is_under_way()) {
    if (const std::optional<SavedTraining> saved = saver_->advance()) {
      report(*saved);
    }
  }
  const int64_t every = parts_.plan.save_every;
  if (every > 0 && (over.last || over.position.counted % every == 0)) {
    save(over);
  }
  if (over.last) {
    finish();
  }
}

TrainingState RunCheckpoints::state_at(const StepOver& over) const {
  TrainingState state{.position = over.position,
                      .learning_rate = over.step.learning_rate,
                      .optimizer_name = parts_.plan.optimizer,
                      .optimizer = parts_.training.optimizer_options(),
                      .metrics = metrics_of(over),
                      .run = parts_.settings};
  if (LossScaler* scaler = parts_.training.loss_scaler()) {
    state.loss_scale = scaler->state();
  }
  return state;
}

/// The training goes on when this returns.
void RunCheckpoints::save(const StepOver& over) {
  finish();
  const TrainingState state = state_at(over);
  const auto lock = parts_.termination.defer();
  PhaseUse use;
  parts_.meter.measure("checkpoint", use, [&] {
    saver_->begin(state, parts_.training.held());
    if (!copies()) {
      saver_->publish();
    }
  });
  stall_seconds_ = use.seconds;
  if (!copies() && !local_) {
    report(saver_->finish());
  }
}

void RunCheckpoints::await_copy() {
  if (!saver_->is_copying()) {
    return;
  }
  // No phase of its own, at whose end a device would be waited for.
  const double begin = MonotonicSeconds();
  saver_->await_copy();
  stall_seconds_ += MonotonicSeconds() - begin;
}

void RunCheckpoints::finish() {
  if (!saver_->is_under_way()) {
    return;
  }
  PhaseUse use;
  SavedTraining saved;
  parts_.meter.measure("checkpoint", use, [&] { saved = saver_->finish(); });
  stall_seconds_ += use.seconds;
  report(saved);
}

void RunCheckpoints::finish_after_failure() {
  if (!saver_ || !saver_->is_under_way()) {
    return;
  }
  try {
    report(saver_->finish());  // not a phase of the run: where it failed is known
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay-worker: the checkpoint under way is lost: {}\n", error.what());
  }
}

void RunCheckpoints::report(const SavedTraining& saved) {
  if (!ranks().is_first()) {
    return;
  }
  job::Checkpointed event{.step = saved.step, .uri = saved.uri, .bytes = saved.bytes, .stall_seconds = stall_seconds_};
  if (local_) {
    event.uri = output_.place_of(saved.step).uri();
    event.local_seconds = saved.seconds;
    event.remote_seconds = saved.second_seconds;
  } else {
    (output_.is_local() ? event.local_seconds : event.remote_seconds) = saved.seconds;
  }
  parts_.events.write(event);
}

}  // namespace assay::engine
