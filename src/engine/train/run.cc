#include "engine/train/run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Generator.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <exception>
#include <numeric>

#include "base/text.h"
#include "engine/adapter/lora.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/model/load.h"
#include "engine/model/status_error.h"
#include "engine/train/device.h"
#include "engine/train/failure.h"
#include "engine/train/loop.h"
#include "engine/train/phase_meter.h"
#include "engine/train/plan_check.h"
#include "engine/train/session.h"

namespace assay::engine {
namespace {

int64_t elements(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t{0},
                         [](int64_t sum, const at::Tensor& tensor) { return sum + tensor.numel(); });
}

int64_t base_elements(const CausalLM& model) {
  int64_t sum = 0;
  for (const NamedTensor& parameter : model.parameters()) {
    sum += parameter.second.numel();
  }
  return sum;
}

/// One run: its plan, where it reports to, and what it measured so far.
class Run {
 public:
  Run(const job::TunePlan& plan, EventWriter& events, TerminationWatcher& termination, double start_seconds)
      : plan_(plan), events_(events), termination_(termination), start_seconds_(start_seconds) {}

  job::Ended execute() {
    job::Ended ended;
    try {
      carry_out(ended);
    } catch (const ControllerGone&) {
      throw;
    } catch (const std::exception&) {
      ended = describe_failure(std::current_exception(), meter_.where());
      explain_budget(ended);
    }
    ended.peak_tensor_bytes = meter_.overall_peak_bytes();
    ended.peak_reserved_bytes = meter_.overall_peak_reserved_bytes();
    return ended;
  }

 private:
  /// The allocator's own message knows nothing of the part of the budget that mapped weights take.
  void explain_budget(job::Ended& ended) const {
    const bool hit_budget = ended.kind == job::EndKind::kOutOfMemory && plan_.memory_budget_bytes > 0;
    if (hit_budget && device_.is_cpu() && mapped_weight_bytes() > 0) {
      ended.reason += fmt::format(" (the budget of {} less {} of mapped weights)",
                                  FormatBytes(static_cast<double>(plan_.memory_budget_bytes)),
                                  FormatBytes(static_cast<double>(mapped_weight_bytes())));
    }
  }

  void carry_out(job::Ended& ended) {
    prepare();
    Session session = load();
    StopRule stop(stop_options(session));
    const LoopParts parts{.model = *session.model,
                          .trainable = session.trainable,
                          .optimizer = *session.optimizer,
                          .schedule = session.schedule,
                          .scaler = session.scaler ? &*session.scaler : nullptr,
                          .rows = session.rows,
                          .order = session.order,
                          .stop = stop,
                          .meter = meter_,
                          .device = device_};
    const LoopOptions options{.max_length = plan_.model_max_length, .max_grad_norm = plan_.max_grad_norm};
    const LoopResult result = run_loop(options, parts, [this](const job::Step& step) { events_.write(step); });
    ended.stopped_by = result.stopped_by;
    ended.train_runtime = result.train_runtime;
    ended.warmup_steps = result.warmup.steps;
    ended.warmup_seconds = result.warmup.seconds;
    save(session);
  }

  void prepare() {
    throw_if_error(check_world());
    throw_if_error(check_plan(plan_));
    device_ = select_device(plan_.device);
    meter_.set_device(device_);
    set_threads(plan_.threads);
    at::manual_seed(plan_.seed);
    events_.write(job::Started{.pid = ::getpid(),
                               .libtorch = TORCH_VERSION,
                               .device = device_.str(),
                               .threads = at::get_num_threads(),
                               .isa = cpu_kernels().isa});
  }

  Session load() {
    std::optional<Session> session;
    PhaseUse use;
    meter_.measure("load", use, [&] { session = load_session(plan_, device_); });
    throw_if_error(check_stop_options(stop_options(*session)));
    const int64_t trainable = elements(session->trainable);
    const int64_t base = base_elements(*session->model);
    events_.write(job::Loaded{.seconds = MonotonicSeconds() - start_seconds_,
                              .model_type = session->model->model_type(),
                              .weights = session->random_weights ? "random" : "file",
                              .parameters = session->lora ? base + trainable : base,
                              .trainable_parameters = trainable,
                              .rows = session->rows.rows(),
                              .planned_steps = session->planned_steps,
                              .layers = session->checkpointing.layers,
                              .checkpointed_layers = session->checkpointing.checkpointed_layers,
                              .step_bytes = session->checkpointing.step_bytes,
                              .available_bytes = session->checkpointing.available_bytes,
                              .peak_tensor_bytes = use.peak_bytes});
    return *std::move(session);
  }

  StopOptions stop_options(const Session& session) const {
    return {.last_step = session.planned_steps,
            .last_step_is_max_steps = plan_.max_steps >= 0,
            .stop_after_seconds = plan_.stop_after_seconds,
            .auto_stop_method = plan_.auto_stop_method};
  }

  void save(Session& session) {
    if (plan_.save == "none") {
      return;
    }
    const auto lock = termination_.defer();
    PhaseUse use;
    meter_.measure("save", use, [&] {
      if (session.lora) {
        save_lora(*session.model, *session.lora, plan_.output_dir);
      } else {
        save_model(*session.model, plan_.output_dir);
      }
    });
    events_.write(job::Saved{.path = plan_.output_dir});
  }

  const job::TunePlan& plan_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  double start_seconds_;
  c10::Device device_ = c10::kCPU;
  PhaseMeter meter_{c10::kCPU};
};

}  // namespace

job::Ended run_plan(const job::TunePlan& plan, EventWriter& events, TerminationWatcher& termination,
                    double start_seconds) {
  return Run(plan, events, termination, start_seconds).execute();
}

}  // namespace assay::engine
