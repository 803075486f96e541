#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "checkpoint/find.h"
#include "checkpoint/manage.h"
#include "engine/checkpoint/read_training.h"
#include "engine/checkpoint/run_folder.h"
#include "engine/checkpoint/training_saver.h"
#include "engine/model/status_error.h"
#include "engine/train/checkpoint_run/benchmark_state.h"
#include "engine/train/run_checkpoints.h"
#include "engine/train/shared_work.h"

namespace assay::engine {
namespace {

/// Element `first + i` of the tensor at `place` in the list. share/peers/checkpoint/values.py makes the same.
void fill_values(at::Tensor& weight, int64_t first, uint64_t seed, size_t place) {
  const auto salt = static_cast<uint32_t>(seed * 7919 + place * 40503);
  auto* values = weight.mutable_data_ptr<float>();
  for (int64_t i = 0; i < weight.numel(); ++i) {
    const uint32_t mixed = static_cast<uint32_t>(first + i) * 2654435761U + salt;
    values[i] = static_cast<float>(mixed >> 8) * 0x1p-24F;
  }
}

class ShardedState : public BenchmarkState {
 public:
  ShardedState(const job::CheckpointPlan& plan, Communicator* world, std::shared_ptr<storage::RequestObserver> observer)
      : world_(world),
        copies_(plan.checkpoint_writer == kWriterThatCopies),
        folder_(plan.output_dir, {.observer = std::move(observer), .sync_files = plan.sync_files}) {
    for (size_t place = 0; place < plan.tensors.size(); ++place) {
      add(value_or_throw(job::ParsePlannedTensor(plan.tensors[place])), plan.seed, place);
    }
    TrainingSaverOptions options{.copies = copies_};
    options.layout.prefix = value_or_throw(checkpoint::ParsePrefixStrategy(plan.prefix, plan.prefix_epoch));
    options.layout.files_per_rank = static_cast<int>(plan.files_per_rank);
    saver_ = std::make_unique<TrainingSaver>(folder_, ranks(), options);
  }

  int64_t bytes() const override { return bytes_; }

  std::optional<job::Step> advance(int64_t) override { return std::nullopt; }

  double save(int64_t step) override {
    const double begin = MonotonicSeconds();
    TrainingState state{.position = {.step = step, .counted = step}, .run = kRun};
    saver_->begin(state, held_);
    saver_->await_copy();
    const double copied = MonotonicSeconds() - begin;
    saver_->finish();
    return copies_ ? copied : MonotonicSeconds() - begin;
  }

  void prepare_load() override {
    loaded_ = held_;
    for (HeldState& state : loaded_) {
      state.weight = at::empty(state.weight.sizes(), state.weight.options()).zero_();
    }
  }

  void load(int64_t step) override {
    const checkpoint::Place place = folder_.place_of(step);
    ranks().together("read " + place.uri(), [&] { read_training(place, kRun, loaded_); });
  }

  void verify() override {
    for (size_t i = 0; i < held_.size(); ++i) {
      const at::Tensor& saved = held_[i].weight;
      if (std::memcmp(saved.const_data_ptr(), loaded_[i].weight.const_data_ptr(), saved.nbytes()) != 0) {
        throw StatusError(Status::Internal(
            fmt::format("'{}' was loaded with other values than were saved to {}", held_[i].name, folder_.uri())));
      }
    }
    loaded_.clear();
  }

  void remove(int64_t step) override {
    const checkpoint::Place place = folder_.place_of(step);
    ranks().together("remove " + place.uri(), [&] {
      if (!ranks().is_first()) {
        return;
      }
      if (const auto found = value_or_throw(checkpoint::FindCheckpoint(place))) {
        throw_if_error(checkpoint::RemoveCheckpoint(*found));
      }
    });
  }

 private:
  inline static const std::map<std::string, std::string> kRun = {{"benchmark", "checkpoint"}};

  CheckpointRanks ranks() {
    return {.world = world_, .start = [this](const std::string& what, MostWork, bool, std::function<void()> work) {
              return std::make_unique<SharedWork>(world_, c10::kCPU, what, std::move(work), Patience{});
            }};
  }

  /// This rank's rows, as torch.chunk deals them: the last ranks may have fewer, or none.
  void add(const job::PlannedTensor& tensor, uint64_t seed, size_t place) {
    const int64_t rows = tensor.shape.front();
    const int64_t row_elements = checkpoint::Count(tensor.shape) / rows;
    bytes_ += rows * row_elements * static_cast<int64_t>(sizeof(float));
    const int64_t size = world_ == nullptr ? 1 : world_->size();
    const int64_t rank = world_ == nullptr ? 0 : world_->rank();
    const int64_t chunk = (rows + size - 1) / size;
    const int64_t begin = std::min(rows, rank * chunk);
    const int64_t end = std::min(rows, begin + chunk);
    if (begin == end) {
      return;
    }
    HeldState& state = held_.emplace_back();
    state.name = tensor.name;
    state.shape = tensor.shape;
    state.part = checkpoint::WholeOf(tensor.shape);
    state.begin = begin * row_elements;
    state.weight = at::empty({(end - begin) * row_elements}, at::TensorOptions().dtype(at::kFloat));
    fill_values(state.weight, state.begin, seed, place);
  }

  Communicator* world_;
  bool copies_;
  RunFolder folder_;
  int64_t bytes_ = 0;
  std::vector<HeldState> held_;
  std::vector<HeldState> loaded_;
  std::unique_ptr<TrainingSaver> saver_;
};

}  // namespace

std::unique_ptr<BenchmarkState> make_sharded_state(const job::CheckpointPlan& plan, Communicator* world,
                                                   std::shared_ptr<storage::RequestObserver> observer) {
  return std::make_unique<ShardedState>(plan, world, std::move(observer));
}

}  // namespace assay::engine
