#include "engine/shard/test_training.h"

#include <gtest/gtest.h>

#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/shard/full_weights.h"
#include "engine/shard/shard_engine.h"

namespace assay::engine::testing {

double learning_rate(int64_t step) {
  return 1e-2 / (1.0 + 0.1 * static_cast<double>(step));
}

ShardPolicy small_policy(std::string_view name, int64_t chunk_elements) {
  ShardPolicy policy = shard_policy(name);
  if (policy.chunks) {
    policy.chunks = ChunkSearch{.min_elements = chunk_elements, .range = chunk_elements, .step = 32};
  }
  return policy;
}

Course train_alone(const Setting& setting) {
  TestModel model(setting.model);
  std::vector<NamedTensor> trainable;
  for (const NamedTensor& p : model.parameters()) {
    if (p.second.requires_grad()) {
      trainable.push_back(p);
    }
  }
  const auto optimizer = make_optimizer("adamw_torch", trainable, setting.optimizer);
  Course course;
  for (int64_t step = setting.first_step; step < setting.steps; ++step) {
    double loss_sum = 0;
    for (int64_t part = 0; part < kMicroBatches; ++part) {
      const auto batch = test_batch(setting.model, step, part);
      model.use_unused(setting.use_differs && part < kMicroBatches / 2);
      const at::Tensor loss = model.loss(batch.ids_T, batch.targets_T) / static_cast<double>(kMicroBatches);
      loss.backward();
      loss_sum += loss.item<double>();
    }
    std::vector<at::Tensor> gradients;
    for (const auto& [name, tensor] : trainable) {
      if (tensor.grad().defined()) {
        gradients.push_back(tensor.grad());
      }
    }
    const at::Tensor stats = gradient_stats(gradients);
    optimizer->step(learning_rate(step), {.max_norm = setting.max_norm, .stats = stats});
    course.losses.push_back(loss_sum);
    course.norms.push_back(gradient_norm(stats));
    for (const auto& [name, tensor] : trainable) {
      tensor.mutable_grad() = at::Tensor();
    }
  }
  for (const auto& [name, tensor] : model.parameters()) {
    course.weights[name] = tensor.detach();
  }
  return course;
}

ShardedCourse train_rank(Communicator& world, const ShardPolicy& policy, const Setting& setting) {
  TestModelOptions options = setting.model;
  if (!options.frozen) {  // the engine spreads rank 0's weights, but for frozen ones that every rank keeps whole
    options.seed += static_cast<uint64_t>(world.rank());
  }
  RankGroups groups(world, policy.split, setting.expert_ranks);
  TestModel model(options, groups.expert_place());
  ShardEngine engine(model, policy, groups.groups, setting.optimizer,
                     setting.device_apart ? WeightBudget::Probe([&engine] { return engine.ledger().live_total(); })
                                          : WeightBudget::Probe());
  if (setting.before) {
    setting.before(engine, world);
  }
  const int64_t own = kMicroBatches / world.size();
  ShardedCourse course;
  for (int64_t step = setting.first_step; step < setting.steps; ++step) {
    at::Tensor loss_sum = at::zeros({1}, at::kDouble);
    for (int64_t i = 0; i < own; ++i) {
      const int64_t part = world.rank() * own + i;
      const auto batch = test_batch(setting.model, step, part);
      model.use_unused(setting.use_differs && part < kMicroBatches / 2);
      const at::Tensor loss = model.loss(batch.ids_T, batch.targets_T) / static_cast<double>(own);
      engine.backward(loss, i + 1 == own, setting.no_sync);
      loss_sum += loss.item<double>();
    }
    world.all_reduce(loss_sum, ReduceOp::kAverage, "loss")->wait();
    engine.step(learning_rate(step), setting.max_norm);
    course.losses.push_back(loss_sum.item<double>());
    course.norms.push_back(engine.last_step().gradient_norm);
  }
  if (setting.after) {
    setting.after(engine, world);
  }
  for (const auto& [name, tensor] : full_weights(engine)) {
    course.weights[name] = tensor;
  }
  course.unused = engine.unused_parameters();
  course.memory = engine.ledger().now();
  for (const auto& unit : engine.units()) {
    course.states_offloaded.push_back(
        std::ranges::any_of(unit->groups, [](const auto& group) { return group->weights.optimizer_offloaded(); }));
  }
  return course;
}

ShardedCourse train_sharded(int ranks, const ShardPolicy& policy, const Setting& setting) {
  auto group = make_thread_group(ranks);
  std::vector<ShardedCourse> courses(ranks);
  run_ranks(group, [&](Communicator& world) { courses[world.rank()] = train_rank(world, policy, setting); });
  for (int rank = 1; rank < ranks; ++rank) {
    for (const auto& [name, tensor] : courses[0].weights) {
      EXPECT_TRUE(at::equal(tensor, courses[rank].weights.at(name))) << name << " of rank " << rank;
    }
  }
  return courses[0];
}

}  // namespace assay::engine::testing
