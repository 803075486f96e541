#include "engine/train/model_run.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "base/text.h"
#include "engine/adapter/adapter.h"
#include "engine/adapter/merge.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/model/load.h"
#include "engine/train/causal_lm_session.h"
#include "engine/train/device.h"
#include "engine/train/failure.h"
#include "engine/train/text_generation.h"

namespace assay::engine {
namespace {

/// What is done with a model that is loaded, `ended` filled in.
using Work = std::function<void(CausalLM& model, c10::Device device, job::Ended& ended)>;

std::unique_ptr<CausalLM> load(const job::TunePlan& plan, c10::Device device, EventWriter& events) {
  const double begin = MonotonicSeconds();
  bool random_weights = false;
  std::unique_ptr<CausalLM> model = load_model(plan.model_dir, parse_dtype(plan.dtype), device, plan.seed,
                                               random_weights, {}, {}, {}, quantization_of(plan));
  apply_adapter(*model, plan);
  const int64_t stored_bits = model->config().quantization.bits;
  events.write(job::Loaded{.seconds = MonotonicSeconds() - begin,
                           .model_type = model->model_type(),
                           .weights = job::DescribeWeights(!random_weights, stored_bits, plan)});
  return model;
}

job::Ended run_with_model(const job::TunePlan& plan, EventWriter& events, const char* what, const Work& work) {
  job::Ended ended;
  std::string where = "loading the model";
  try {
    const c10::Device device = select_device(plan.device);
    use_device(device);
    set_threads(plan.threads);
    events.write(job::Started{.pid = ::getpid(),
                              .libtorch = TORCH_VERSION,
                              .device = device.str(),
                              .threads = at::get_num_threads(),
                              .isa = cpu_kernels().isa});
    const std::unique_ptr<CausalLM> model = load(plan, device, events);
    where = what;
    const double begin = MonotonicSeconds();
    work(*model, device, ended);
    ended.train_runtime = MonotonicSeconds() - begin;
  } catch (const ControllerGone&) {
    throw;
  } catch (const std::exception&) {
    ended = describe_failure(std::current_exception(), where);
  }
  return ended;
}

}  // namespace

job::Ended run_generate_plan(const job::GeneratePlan& plan, EventWriter& events) {
  return run_with_model(plan, events, "generating text", [&](CausalLM& model, c10::Device device, job::Ended& ended) {
    const bool by_eos = generate_text(model, plan.sample, device,
                                      [&](int64_t id) { events.write(job::Generated{.when = "", .id = id}); });
    ended.stopped_by = by_eos ? "eos" : "max_new_tokens";
  });
}

job::Ended run_merge_plan(const job::MergePlan& plan, EventWriter& events, TerminationWatcher& termination) {
  return run_with_model(plan, events, "merging the adapter", [&](CausalLM& model, c10::Device, job::Ended&) {
    merge_lora(model);
    const auto lock = termination.defer();
    const double begin = MonotonicSeconds();
    save_model(model, model.parameters(), plan.output_dir, plan.max_shard_mib << 20);
    events.write(job::Saved{.path = plan.output_dir, .seconds = MonotonicSeconds() - begin});
  });
}

}  // namespace assay::engine
