#include "engine/train/vit_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/model/status_error.h"
#include "engine/train/checkpointing.h"
#include "engine/train/machine_parameters.h"
#include "engine/train/rank_agreement.h"
#include "engine/train/rank_setup.h"
#include "engine/train/vit_forecast.h"
#include "engine/train/vit_parts.h"
#include "job/tune_plan.h"

namespace assay::engine {
namespace {

constexpr char kOptimizer[] = "adamw_torch";

/// The classes that the plan asks for: those of the training images, or as many as it says.
std::vector<std::string> classes_of(const job::VitPlan& plan) {
  std::vector<std::string> names;
  if (!plan.train_file.empty()) {
    names = value_or_throw(data::ImageFile::Open(plan.train_file)).classes();
  }
  if (plan.num_labels == 0) {
    return {};
  }
  const auto wanted = static_cast<size_t>(plan.num_labels);
  for (size_t label = names.size(); label < wanted; ++label) {
    names.push_back(fmt::format("LABEL_{}", label));
  }
  return names;
}

ImageClassifierOptions options_of(const job::VitPlan& plan, const VitConfig& config, int64_t model_rank,
                                  c10::Device device) {
  ImageClassifierOptions options{.dtype = at::kFloat,
                                 .compute_dtype = compute_dtype_of(plan),
                                 .device = device,
                                 .seed = plan.seed,
                                 .labels = classes_of(plan)};
  take_part(place_of(plan, model_rank), config, options);
  return options;
}

void read_files(const job::VitPlan& plan, const RankEnvironment& environment, const VitConfig& config,
                c10::Device device, VitSession& session) {
  const StrategyGroups& groups = *session.groups;
  const std::string what = "read the model in " + plan.model_dir;
  const auto options = [&] { return options_of(plan, config, groups.model_rank(), device); };
  const MadeParameters made = make_on_machine(session.world.get(), environment, device, what,
                                              [&] { return parameter_maker(plan.model_dir, options()); });
  do_on_all_ranks(session.world.get(), device, what, [&] {
    session.loaded = load_image_classifier(plan.model_dir, options(), made);
    session.batches = std::make_unique<ImageBatches>(plan, session.model().config(), groups.data_rank(),
                                                     groups.data_ranks(), session.model().begins_model());
    if (!plan.eval_file.empty()) {
      session.evaluation.emplace(plan.eval_file, plan, session.model().config());
    }
  });
}

/// The engine over this rank's part of the model, with what joins it to the other parts.
void make_engine(const job::VitPlan& plan, const ShardPolicy& policy, VitSession& session) {
  session.tensor = join_tensor_ranks(plan, *session.groups, session.model());
  Shardable* units = session.tensor == nullptr ? static_cast<Shardable*>(&session.model()) : session.tensor.get();
  session.engine = std::make_unique<ShardEngine>(*units, policy, session.groups->groups(),
                                                 OptimizerOptions{.weight_decay = plan.weight_decay});
  session.pipeline =
      std::make_unique<VitPipeline>(session.model(), session.groups->pipeline(), session.groups->pipeline_back());
}

void check_optimizer(const job::VitPlan& plan) {
  if (plan.optimizer != kOptimizer) {
    throw StatusError(Status::Unsupported(
        fmt::format("optimizer '{}' is not supported over ranks, only '{}'", plan.optimizer, kOptimizer)));
  }
}

}  // namespace

int64_t layers_to_checkpoint(const job::VitPlan& plan, const Vit& model) {
  const int64_t layers = model.num_layers();
  const int64_t wanted = layers_asked_for(plan.gradient_checkpointing, model.config().num_layers);
  if (wanted != job::kAutoCheckpointing) {
    return std::clamp<int64_t>(wanted - model.first_layer(), 0, layers);
  }
  if (plan.memory_budget_bytes == 0) {
    return 0;
  }
  int64_t model_bytes = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    constexpr int64_t kCopies = 4;  // the parameter, its gradient and two moments
    model_bytes += kCopies * static_cast<int64_t>(parameter.nbytes());
  }
  const StepNeed need{.activations = activation_cost_in_flight(plan, model), .gradient_bytes = 0, .accumulates = false};
  return fewest_checkpointed_layers(need, std::max<int64_t>(0, plan.memory_budget_bytes - model_bytes));
}

VitSession load_vit_session(const job::VitPlan& plan, const RankEnvironment& environment, c10::Device device) {
  check_optimizer(plan);
  const ShardPolicy policy = policy_of(plan);
  VitSession session;
  session.world = join_ranks(plan, environment, device);
  check_same_run(plan, session.world.get(), device);
  const VitConfig config = read_vit_config(plan.model_dir);
  check_divides(plan, config);
  session.groups = std::make_unique<StrategyGroups>(plan, policy, *session.world, environment.local_world_size);
  read_files(plan, environment, config, device, session);
  session.parameters = count_parameters(session.model().config());
  session.checkpointed_layers =
      agree_on_checkpointing(session.groups->tensor(), layers_to_checkpoint(plan, session.model()));
  session.model().set_checkpointed_layers(session.checkpointed_layers);
  session.planned_steps =
      plan.max_steps > 0 ? plan.max_steps : plan.num_train_epochs * session.batches->steps_per_epoch();
  const auto preparing = [] { return std::string("the making of gradients and states"); };
  tell_of_failure(session.world.get(), preparing, [&] { make_engine(plan, policy, session); });
  return session;
}

}  // namespace assay::engine
