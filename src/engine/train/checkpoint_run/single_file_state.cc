#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "checkpoint/convert.h"
#include "checkpoint/find.h"
#include "checkpoint/manage.h"
#include "checkpoint/tensor/read_together.h"
#include "engine/checkpoint/run_folder.h"
#include "engine/model/status_error.h"
#include "engine/train/checkpoint_run/benchmark_state.h"
#include "engine/train/checkpoint_run/demo_transformer.h"
#include "engine/train/run_checkpoints.h"

namespace assay::engine {
namespace {

using checkpoint::Value;

/// Where the LightningModule of the benchmark has the demo model.
constexpr char kModel[] = "model.";
constexpr char kStateDict[] = "state_dict";
constexpr int kReadsAtATime = 8;
/// Of storages in the file, as torch lays them.
constexpr int64_t kAlignment = 64;

Value value_of(const at::Tensor& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes());
  auto source = std::make_shared<const checkpoint::MemorySource>(bytes);
  return Value::Data(std::make_shared<const checkpoint::Tensor>(
      checkpoint::ContiguousTensor(checkpoint::DType::kFloat32, tensor.sizes().vec(), std::move(source))));
}

class SingleFileState : public BenchmarkState {
 public:
  SingleFileState(const job::CheckpointPlan& plan, std::shared_ptr<storage::RequestObserver> observer)
      : plan_(plan),
        copies_(plan.checkpoint_writer == kWriterThatCopies),
        model_(plan.layers, plan.seed),
        root_(open_folder(plan.output_dir, {.observer = std::move(observer),
                                            .sync_files = plan.sync_files,
                                            .connections = static_cast<int>(plan.streams)})) {
    for (const auto& [name, parameter] : model_.parameters()) {
      bytes_ += static_cast<int64_t>(parameter.nbytes());
    }
  }

  int64_t bytes() const override { return bytes_; }

  std::optional<job::Step> advance(int64_t step) override {
    const double begin = MonotonicSeconds();
    job::Step made{.step = step, .samples = 1, .real_tokens = DemoTransformer::kTokens};
    made.loss = model_.step();
    made.seconds = MonotonicSeconds() - begin;
    return made;
  }

  double save(int64_t step) override {
    const double begin = MonotonicSeconds();
    if (!copies_) {
      write(model_.parameters(), step);
      return MonotonicSeconds() - begin;
    }
    take_snapshot();
    std::future<void> drain = std::async(std::launch::async, [&] { write(snapshot_, step); });
    const double waited = MonotonicSeconds() - begin;
    drain.get();
    return waited;
  }

  /// As Lightning does, it takes the memory itself.
  void prepare_load() override {}

  void load(int64_t step) override {
    const checkpoint::Checkpoint from = value_or_throw(checkpoint::OpenCheckpoint(place_of(step)));
    for (const auto& [name, parameter] : model_.parameters()) {
      loaded_.emplace(kModel + name, at::empty(parameter.sizes(), at::kFloat));
    }
    std::vector<checkpoint::TensorRead> reads;
    for (const checkpoint::Leaf& leaf : from.state.leaves) {
      const bool is_weight = leaf.path.size() == 2 && leaf.path[0] == checkpoint::PathStep(kStateDict);
      const auto target = is_weight ? loaded_.find(std::get<std::string>(leaf.path[1])) : loaded_.end();
      if (target == loaded_.end() || leaf.value.tensor() == nullptr ||
          leaf.value.tensor()->shape != target->second.sizes().vec()) {
        continue;
      }
      auto* memory = static_cast<std::byte*>(target->second.mutable_data_ptr());
      reads.push_back({leaf.value.tensor(), {memory, target->second.nbytes()}});
    }
    if (reads.size() != loaded_.size()) {
      throw StatusError(Status::Internal(
          fmt::format("{} has {} of the model's {} tensors", place_of(step).uri(), reads.size(), loaded_.size())));
    }
    throw_if_error(checkpoint::ReadTogether(reads, plan_.streams == 1 ? 1 : kReadsAtATime));
  }

  void verify() override {
    for (const auto& [name, parameter] : model_.parameters()) {
      const at::Tensor& loaded = loaded_.at(kModel + name);
      if (std::memcmp(parameter.const_data_ptr(), loaded.const_data_ptr(), parameter.nbytes()) != 0) {
        throw StatusError(Status::Internal(
            fmt::format("'{}' was loaded with other values than were saved to {}", name, plan_.output_dir)));
      }
    }
    loaded_.clear();
  }

  void remove(int64_t step) override {
    if (const auto found = value_or_throw(checkpoint::FindCheckpoint(place_of(step)))) {
      throw_if_error(checkpoint::RemoveCheckpoint(*found));
    }
  }

 private:
  using Parameters = std::vector<std::pair<std::string, at::Tensor>>;

  checkpoint::Place place_of(int64_t step) const {
    return {.store = root_.store, .key = fmt::format("{}step-{}.ckpt", root_.key, step)};
  }

  void take_snapshot() {
    const at::NoGradGuard no_grad;
    const Parameters& parameters = model_.parameters();
    snapshot_.resize(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      auto& [name, copy] = snapshot_[i];
      if (!copy.defined()) {
        name = parameters[i].first;
        copy = at::empty(parameters[i].second.sizes(), at::kFloat);
      }
      copy.copy_(parameters[i].second);
    }
  }

  void write(const Parameters& parameters, int64_t step) const {
    std::vector<std::pair<Value, Value>> weights;
    for (const auto& [name, parameter] : parameters) {
      weights.emplace_back(Value::Text(kModel + name), value_of(parameter));
    }
    checkpoint::Checkpoint from;
    from.state = value_or_throw(
        checkpoint::State::Of(Value::MakeDict({{Value::Text(kStateDict), Value::MakeDict(std::move(weights))}})));
    checkpoint::ConvertOptions options{.format = checkpoint::Format::kLightning, .alignment = kAlignment};
    options.save.step = step;
    throw_if_error(checkpoint::Convert(from, place_of(step), options).status());
  }

  const job::CheckpointPlan& plan_;
  bool copies_;
  DemoTransformer model_;
  checkpoint::Place root_;
  int64_t bytes_ = 0;
  Parameters snapshot_;
  std::map<std::string, at::Tensor> loaded_;
};

}  // namespace

std::unique_ptr<BenchmarkState> make_single_file_state(const job::CheckpointPlan& plan,
                                                       std::shared_ptr<storage::RequestObserver> observer) {
  return std::make_unique<SingleFileState>(plan, std::move(observer));
}

}  // namespace assay::engine
