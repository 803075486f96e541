#include "engine/train/vit_run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/memory.h"
#include "engine/model/status_error.h"
#include "engine/shard/full_weights.h"
#include "engine/train/device.h"
#include "engine/train/failure.h"
#include "engine/train/model_parts.h"
#include "engine/train/phase_meter.h"
#include "engine/train/rank_trace.h"
#include "engine/train/vit_forecast.h"
#include "engine/train/vit_loop.h"
#include "engine/train/vit_session.h"

namespace assay::engine {
namespace {

void refuse_unsupported(const job::VitPlan& plan) {
  throw_if_error(job::CheckVitPlan(plan));
  if (plan.save != "none") {
    throw_if_error(MakeDirectories(plan.output_dir));
  }
}

RankEnvironment environment_of(const job::VitPlan& plan) {
  RankEnvironment environment = value_or_throw(read_rank_environment());
  if (!plan.dry_run && environment.world_size != plan.number_ranks) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the plan is for {} ranks, but WORLD_SIZE says {}: start as many as the plan has",
                    plan.number_ranks, environment.world_size)));
  }
  return environment;
}

class VitRun {
 public:
  VitRun(const job::VitPlan& plan, EventWriter& events, TerminationWatcher& termination, double start_seconds)
      : plan_(plan), events_(events), termination_(termination), start_seconds_(start_seconds) {}

  job::Ended execute() {
    job::Ended ended;
    try {
      carry_out(ended);
    } catch (const ControllerGone&) {
      throw;
    } catch (const std::exception&) {
      ended = describe_failure(std::current_exception(), meter_.where());
      if (plan_.number_ranks > 1 && rank_known_) {
        ended.reason = fmt::format("rank {}: {}", rank_, ended.reason);
      }
    }
    ended.peak_tensor_bytes = meter_.overall_peak_bytes();
    ended.peak_reserved_bytes = meter_.overall_peak_reserved_bytes();
    return ended;
  }

 private:
  void carry_out(job::Ended& ended) {
    refuse_unsupported(plan_);
    const RankEnvironment environment = environment_of(plan_);
    rank_ = environment.rank;
    rank_known_ = true;
    prepare(environment);
    if (plan_.dry_run) {
      write_forecast(plan_.number_ranks);
      return;
    }
    open_trace();
    VitSession session = load(environment);
    trace_collectives(session);
    const VitLoopResult result = run_vit_loop(plan_, session, meter_, events_, device_);
    ended.stopped_by = plan_.max_steps > 0 ? "max_steps" : "epochs";
    ended.train_runtime = result.train_runtime;
    ended.warmup_steps = result.warmup.steps;
    ended.warmup_seconds = result.warmup.seconds;
    const ActivationNeed need = activation_need(plan_, session.model(), session.checkpointed_layers);
    write_ledger(ledger_event(result.at_peak, need.kept_bytes, result.peak_bytes, device_.is_cpu()), "steady");
    if (rank_ == 0) {
      write_forecast(environment.local_world_size);
    }
    save(session);
    if (trace_) {
      trace_->finish();
    }
  }

  void open_trace() {
    if (!plan_.trace_dir.empty()) {
      trace_.emplace(plan_.trace_dir, rank_);
      meter_.set_trace(&*trace_);
    }
  }

  void trace_collectives(VitSession& session) {
    if (trace_) {
      for (const auto& [name, group] : session.groups->named()) {
        group->set_observer(trace_->observer_of(name));
      }
    }
  }

  void prepare(const RankEnvironment& environment) {
    device_ = select_device(plan_.device);
    if (device_.is_cuda()) {
      device_ = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(environment.local_rank));
      use_device(device_);
    }
    meter_.set_device(device_);
    set_threads(plan_.threads > 0 ? plan_.threads
                                  : std::max<int64_t>(1, at::get_num_threads() / environment.local_world_size));
    if (plan_.memory_cap_bytes > 0) {
      SetMemoryBudget(plan_.memory_cap_bytes, device_);
    }
    if (rank_ == 0) {
      events_.write(job::Started{.pid = ::getpid(),
                                 .libtorch = TORCH_VERSION,
                                 .device = device_.str(),
                                 .threads = at::get_num_threads(),
                                 .isa = cpu_kernels().isa});
    }
  }

  void write_ledger(job::MemoryLedger event, const char* phase) {
    event.rank = rank_;
    event.phase = phase;
    event.source = "measured";
    events_.write(event);
  }

  void write_forecast(int64_t local_ranks) {
    for (const job::MemoryLedger& event : forecast_memory(plan_, local_ranks, device_.is_cpu())) {
      events_.write(event);
    }
  }

  VitSession load(const RankEnvironment& environment) {
    std::optional<VitSession> session;
    PhaseUse use;
    meter_.measure("load", use, [&] { session = load_vit_session(plan_, environment, device_); });
    write_ledger(
        ledger_event(session->engine->ledger().peak(device_.is_cpu()).by_kind, 0, use.peak_bytes, device_.is_cpu()),
        "init");
    if (rank_ == 0) {
      events_.write(topology(*session));
      events_.write(job::Loaded{.seconds = MonotonicSeconds() - start_seconds_,
                                .model_type = session->model().config().model_type,
                                .weights = session->loaded.random_weights ? "random" : "file",
                                .parameters = session->parameters,
                                .trainable_parameters = session->parameters,
                                .rows = session->batches->images(),
                                .planned_steps = session->planned_steps,
                                .layers = session->model().config().num_layers,
                                .checkpointed_layers = session->checkpointed_layers,
                                .peak_tensor_bytes = use.peak_bytes});
    }
    if (rank_ == 0 && !session->loaded.new_head.empty()) {
      std::fprintf(stderr, "assay-worker: %s\n", session->loaded.new_head.c_str());
    }
    return *std::move(session);
  }

  job::Topology topology(VitSession& session) const {
    int64_t largest = 0;
    const std::vector<ParameterUnit> units = session.model().units();
    for (const ParameterUnit& unit : units) {
      int64_t elements = 0;
      for (const ParameterRef& parameter : unit.parameters) {
        elements += parameter.tensor->numel();
      }
      largest = std::max(largest, elements);
    }
    const std::string_view backend = session.world->backend();
    return {.world_size = session.world->size(),
            .data_ranks = session.groups->data_ranks(),
            .shard_ranks = session.groups->shard_ranks(),
            .tensor_ranks = session.groups->tensor_ranks(),
            .pipeline_stages = session.groups->stages(),
            .plugin = plan_.plugin,
            .precision = plan_.precision,
            .backend = std::string(backend == "shm" || backend == "self" ? "shared_memory" : backend),
            .units = static_cast<int64_t>(units.size()),
            .largest_unit_parameters = largest};
  }

  void save(VitSession& session) {
    if (plan_.save == "none") {
      return;
    }
    const auto lock = termination_.defer();
    PhaseUse use;
    meter_.measure("save", use, [&] {
      const bool first_data_rank = session.groups->data_rank() == 0;
      std::vector<NamedTensor> weights = full_weights(*session.engine, first_data_rank);
      if (first_data_rank) {
        weights = gather_parts(std::move(weights), plan_, session.model().config(), session.groups->groups().model);
      }
      if (rank_ == 0) {
        save_image_classifier(session.model(), weights, plan_.output_dir, plan_.max_shard_mib << 20);
      }
    });
    if (rank_ == 0) {
      events_.write(job::Saved{.path = plan_.output_dir});
    }
  }

  const job::VitPlan& plan_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  double start_seconds_;
  bool rank_known_ = false;
  int rank_ = 0;
  c10::Device device_ = c10::kCPU;
  std::optional<RankTrace> trace_;  ///< of plans that ask for it
  PhaseMeter meter_{c10::kCPU};
};

}  // namespace

job::Ended run_vit_plan(const job::VitPlan& plan, EventWriter& events, TerminationWatcher& termination,
                        double start_seconds) {
  return VitRun(plan, events, termination, start_seconds).execute();
}

}  // namespace assay::engine
