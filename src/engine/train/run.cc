#include "engine/train/run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/model/mapped_pages.h"
#include "engine/model/status_error.h"
#include "engine/train/checkpoint_run/checkpoint_run.h"
#include "engine/train/connector_run/connector_run.h"
#include "engine/train/failure.h"
#include "engine/train/loop.h"
#include "engine/train/model_run.h"
#include "engine/train/phase_meter.h"
#include "engine/train/plan_check.h"
#include "engine/train/rank_agreement.h"
#include "engine/train/rank_reporter.h"
#include "engine/train/rank_setup.h"
#include "engine/train/rank_topology.h"
#include "engine/train/rank_trace.h"
#include "engine/train/run_checkpoints.h"
#include "engine/train/run_settings.h"
#include "engine/train/training.h"
#include "engine/train/vit_forecast.h"

namespace assay::engine {
namespace {

/// One run: its plan, where it reports to, and what it measured so far.
class Run {
 public:
  Run(const job::Plan& plan, EventWriter& events, TerminationWatcher& termination, double start_seconds,
      std::shared_ptr<storage::RequestObserver> observer)
      : plan_(plan),
        training_(job::TrainingOf(plan)),
        events_(events),
        termination_(termination),
        start_seconds_(start_seconds),
        observer_(std::move(observer)) {}

  job::Ended execute() {
    job::Ended ended;
    try {
      carry_out(ended);
    } catch (const ControllerGone&) {
      throw;
    } catch (const std::exception&) {
      ended = describe_failure(std::current_exception(), meter_.where());
      explain(ended);
    }
    ended.peak_tensor_bytes = meter_.overall_peak_bytes();
    ended.peak_reserved_bytes = meter_.overall_peak_reserved_bytes();
    return ended;
  }

 private:
  /// What an exception cannot know: the part of the budget that mapped weights take, which the allocator does not see,
  /// and the rank.
  void explain(job::Ended& ended) const {
    const int64_t budget = training_.memory_budget_bytes;
    const bool hit_budget = ended.kind == job::EndKind::kOutOfMemory && budget > 0;
    if (hit_budget && device_.is_cpu() && mapped_bytes() > 0) {
      ended.reason +=
          fmt::format(" (the budget of {} less {} of mapped weights)", FormatBytes(static_cast<double>(budget)),
                      FormatBytes(static_cast<double>(mapped_bytes())));
    }
    if (training_.number_ranks > 1 && environment_) {
      ended.reason = fmt::format("rank {}: {}", environment_->rank, ended.reason);
    }
  }

  void carry_out(job::Ended& ended) {
    job::VisitTraining(plan_, [](const auto& plan) { throw_if_error(check_plan(plan)); });
    if (const auto* vit = std::get_if<job::VitPlan>(&plan_); vit != nullptr && vit->dry_run) {
      foretell(*vit);
      return;
    }
    environment_ = environment_of(training_);
    prepare();
    open_trace();
    const std::unique_ptr<Training> training = load();
    Communicator* const world = training->groups() == nullptr ? nullptr : &training->groups()->world();
    tell_of_failure(
        world, [this] { return meter_.where(); },
        [&] {
          const TrainingPosition position = begin(*training);
          training->write_sample("before", events_);
          const LoopResult result = train(*training, position);
          training->write_sample("after", events_);
          ended.stopped_by = result.stopped_by;
          ended.train_runtime = result.train_runtime;
          ended.warmup_steps = result.warmup.steps;
          ended.warmup_seconds = result.warmup.seconds;
          save(*training);
        });
    if (trace_) {
      trace_->finish();
    }
  }

  bool first_rank() const { return environment_->rank == 0; }

  void foretell(const job::VitPlan& plan) {
    environment_ = RankEnvironment{};
    prepare();
    write(forecast_memory(plan, plan.number_ranks / plan.number_nodes, device_.is_cpu()));
  }

  void write(const std::vector<job::MemoryLedger>& ledgers) {
    for (const job::MemoryLedger& ledger : ledgers) {
      events_.write(ledger);
    }
  }

  /// The parts of the `peak_bytes` of a phase, of which the engine held `held` and `activations` were a step's.
  void write_measured(const char* phase, const MemoryByKind& held, int64_t activations, int64_t peak_bytes) {
    job::MemoryLedger ledger = ledger_event(held, activations, peak_bytes, device_.is_cpu());
    ledger.rank = environment_->rank;
    ledger.phase = phase;
    ledger.source = "measured";
    events_.write(ledger);
  }

  MemoryByKind peak_of(Training& training) const { return training.engine()->ledger().peak(device_.is_cpu()).by_kind; }

  void prepare() {
    device_ = select_rank_device(training_.device, *environment_);
    meter_.set_device(device_);
    set_rank_threads(training_.threads, *environment_);
    if (first_rank()) {
      events_.write(job::Started{.pid = ::getpid(),
                                 .libtorch = TORCH_VERSION,
                                 .device = device_.str(),
                                 .threads = at::get_num_threads(),
                                 .isa = cpu_kernels().isa});
    }
  }

  void open_trace() {
    if (!training_.trace_dir.empty()) {
      trace_.emplace(training_.trace_dir, environment_->rank);
      meter_.set_trace(&*trace_);
    }
  }

  void trace_collectives(const StrategyGroups& groups) {
    if (trace_) {
      for (const auto& [name, group] : groups.named()) {
        group->set_observer(trace_->observer_of(name));
      }
    }
  }

  std::unique_ptr<Training> load() {
    std::unique_ptr<Training> training;
    PhaseUse use;
    meter_.measure("load", use, [&] {
      training = job::VisitTraining(
          plan_, [&](const auto& plan) { return load_training(plan, *environment_, device_, events_); });
    });
    throw_if_error(check_stop_options(training->stop_options()));
    if (const StrategyGroups* groups = training->groups()) {
      write_measured("init", peak_of(*training), /*activations=*/0, use.peak_bytes);
      if (first_rank()) {
        events_.write(training->topology());
      }
      trace_collectives(*groups);
    }
    if (first_rank()) {
      job::Loaded loaded = training->loaded();
      loaded.seconds = MonotonicSeconds() - start_seconds_;
      loaded.peak_tensor_bytes = use.peak_bytes;
      events_.write(loaded);
    }
    return training;
  }

  /// Where the run goes on.
  TrainingPosition begin(Training& training) {
    if (!RunCheckpoints::wanted(training_)) {
      return {};
    }
    const StrategyGroups* groups = training.groups();
    checkpoints_.emplace(
        RunCheckpointParts{.plan = training_,
                           .settings = job::VisitTraining(plan_, [](const auto& plan) { return settings_of(plan); }),
                           .training = training,
                           .world = groups == nullptr ? nullptr : &groups->world(),
                           .is_one_machine = environment_->one_machine(),
                           .device = device_,
                           .meter = meter_,
                           .events = events_,
                           .termination = termination_,
                           .observer = observer_});
    return checkpoints_->begin();
  }

  LoopResult train(Training& training, const TrainingPosition& begin) {
    const StrategyGroups* groups = training.groups();
    StopRule stop(training.stop_options(), begin.evaluations);
    RankReporter reporter(events_, groups);
    if (groups != nullptr) {
      meter_.set_waited([groups] { return communication_of(*groups).exposed_seconds; });
    }
    LoopOptions options = training.loop_options();
    options.begin = begin;
    LoopResult result = make_steps(options, {.task = training.task(),
                                             .updater = training.updater(),
                                             .schedule = training.schedule(),
                                             .stop = stop,
                                             .meter = meter_,
                                             .observer = reporter,
                                             .world = groups == nullptr ? nullptr : &groups->world(),
                                             .device = device_,
                                             .before_update = before_update(),
                                             .between_steps = between_steps()});
    if (std::optional<job::DataUse> use = training.data_use()) {
      use->rank = environment_->rank;
      events_.write(*use);
    }
    if (groups != nullptr) {
      reporter.write_collectives();
      write_measured("steady", peak_of(training), training.activation_bytes(), reporter.peak_bytes());
      if (first_rank()) {
        write(training.foretold_memory(environment_->local_world_size));
      }
    }
    return result;
  }

  /// What is being saved when a training diverges becomes a checkpoint all the same; likewise when one fails that needs
  /// no other rank for it.
  LoopResult make_steps(const LoopOptions& options, const LoopParts& parts) {
    const bool is_alone = parts.world == nullptr || parts.world->size() == 1;
    try {
      LoopResult result = run_loop(options, parts);
      if (checkpoints_) {
        checkpoints_->finish();
      }
      return result;
    } catch (const ControllerGone&) {
      throw;
    } catch (const std::exception& error) {
      if (checkpoints_ && (is_alone || dynamic_cast<const Diverged*>(&error) != nullptr)) {
        checkpoints_->finish_after_failure();
      }
      throw;
    }
  }

  std::function<void()> before_update() {
    return checkpoints_ ? [this] { checkpoints_->await_copy(); } : std::function<void()>();
  }

  std::function<void(const StepOver&)> between_steps() {
    return checkpoints_ ? [this](const StepOver& over) { checkpoints_->step_over(over); }
                        : std::function<void(const StepOver&)>();
  }

  void save(Training& training) {
    if (training_.save == "none") {
      return;
    }
    const auto lock = termination_.defer();
    PhaseUse use;
    meter_.measure("save", use, [&] { training.save(); });
    if (training.groups() != nullptr) {
      write_measured("save", training.engine()->ledger().now(), /*activations=*/0, use.peak_bytes);
    }
    if (first_rank()) {
      events_.write(job::Saved{.path = training_.output_dir, .seconds = use.seconds});
    }
  }

  const job::Plan& plan_;
  const job::TrainingPlan& training_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  double start_seconds_;
  std::shared_ptr<storage::RequestObserver> observer_;
  std::optional<RankEnvironment> environment_;
  c10::Device device_ = c10::kCPU;
  std::optional<RankTrace> trace_;  ///< of plans that ask for it
  PhaseMeter meter_{c10::kCPU};
  std::optional<RunCheckpoints> checkpoints_;  ///< of plans that ask for them
};

}  // namespace

job::Ended run_plan(const job::Plan& plan, EventWriter& events, TerminationWatcher& termination, double start_seconds,
                    std::shared_ptr<storage::RequestObserver> observer) {
  if (const auto* checkpoints = std::get_if<job::CheckpointPlan>(&plan)) {
    return run_checkpoint_plan(*checkpoints, events, termination);
  }
  if (const auto* connector = std::get_if<job::ConnectorPlan>(&plan)) {
    return run_connector_plan(*connector, events, termination);
  }
  if (const auto* generate = std::get_if<job::GeneratePlan>(&plan)) {
    return run_generate_plan(*generate, events);
  }
  if (const auto* merge = std::get_if<job::MergePlan>(&plan)) {
    return run_merge_plan(*merge, events, termination);
  }
  return Run(plan, events, termination, start_seconds, std::move(observer)).execute();
}

}  // namespace assay::engine
