#include "engine/checkpoint/read_training.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/find.h"
#include "engine/checkpoint/holdings.h"
#include "engine/model/element_types.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using checkpoint::Tensor;

/// Tensors that are read at a time.
constexpr int kTensorsAtATime = 8;

class StateReader {
 public:
  StateReader(const checkpoint::Checkpoint& from, std::string uri) : uri_(std::move(uri)) {
    for (const checkpoint::Leaf& leaf : from.state.leaves) {
      if (auto tensor = leaf.value.tensor()) {
        tensors_.emplace(leaf.name, std::move(tensor));
      }
    }
  }

  /// That all of `held` is there, in its shape.
  void check(const std::vector<HeldState>& held) const {
    std::vector<std::string> missing;
    for (const HeldState& state : held) {
      const Tensor* tensor = find(model_name(state.name));
      if (tensor == nullptr) {
        missing.push_back(state.name);
      } else if (tensor->shape != state.shape) {
        throw_invalid_argument(fmt::format("{}: '{}' has the shape {} there and {} here: it is of another model", uri_,
                                           state.name, checkpoint::ShapeText(tensor->shape),
                                           checkpoint::ShapeText(state.shape)));
      }
    }
    if (!missing.empty()) {
      throw_invalid_argument(fmt::format("{} has no '{}'{}: it is of another model", uri_, missing.front(),
                                         missing.size() == 1 ? "" : fmt::format(", nor {} more", missing.size() - 1)));
    }
  }

  void read(const HeldState& state) const {
    fill(model_name(state.name), state, state.weight);
    if (state.steps == nullptr) {
      return;
    }
    const Tensor* steps = find(moment_name(state.name, kSteps));
    *state.steps = steps == nullptr ? 0 : read_steps(*steps);
    if (*state.steps > 0) {
      fill(moment_name(state.name, kFirstMoment), state, state.first_moment);
      fill(moment_name(state.name, kSecondMoment), state, state.second_moment);
    }
  }

 private:
  const Tensor* find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second.get();
  }

  static int64_t read_steps(const Tensor& tensor) {
    float steps = 0;
    if (tensor.dtype != checkpoint::DType::kFloat32 || tensor.elements() != 1) {
      throw_invalid_argument("its counts of updates are no single float32: it is not the checkpoint of a training");
    }
    throw_if_error(
        checkpoint::ReadBox(tensor, checkpoint::WholeOf(tensor.shape), std::as_writable_bytes(std::span(&steps, 1))));
    return static_cast<int64_t>(steps);
  }

  /// The stretch of the tensor called `name`.
  void fill(const std::string& name, const HeldState& state, const at::Tensor& target) const {
    const Tensor* tensor = find(name);
    if (tensor == nullptr || tensor->shape != state.shape) {
      throw_invalid_argument(
          fmt::format("{} has no '{}' of the shape {}", uri_, name, checkpoint::ShapeText(state.shape)));
    }
    const std::optional<at::ScalarType> type = scalar_type_of(tensor->dtype);
    if (!type) {
      throw_invalid_argument(
          fmt::format("{}: '{}' is of {}, which no training has", uri_, name, checkpoint::InfoOf(tensor->dtype).name));
    }
    const bool in_place = target.is_cpu() && target.scalar_type() == *type;
    const at::Tensor memory = in_place ? target : at::empty({target.numel()}, at::TensorOptions().dtype(*type));
    auto* bytes = static_cast<std::byte*>(memory.mutable_data_ptr());
    for (const checkpoint::Box& box : state.boxes()) {
      const int64_t size = checkpoint::BytesOf(tensor->dtype, checkpoint::Count(box.sizes));
      throw_if_error(checkpoint::ReadBox(*tensor, box, {bytes, static_cast<size_t>(size)}));
      bytes += size;
    }
    if (!in_place) {
      target.copy_(memory);
    }
  }

  std::string uri_;
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> tensors_;
};

void read_all(const StateReader& reader, const std::vector<HeldState>& held) {
  std::mutex mutex;
  std::exception_ptr failed;
  ParallelFor(static_cast<int64_t>(held.size()), kTensorsAtATime, [&](int64_t i) {
    const at::NoGradGuard no_grad;
    try {
      reader.read(held[static_cast<size_t>(i)]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  });
  if (failed != nullptr) {
    std::rethrow_exception(failed);
  }
}

}  // namespace

TrainingState read_training(const checkpoint::Place& place, const std::map<std::string, std::string>& run,
                            const std::vector<HeldState>& held) {
  const checkpoint::Checkpoint from = value_or_throw(checkpoint::OpenCheckpoint(place));
  TrainingState state = training_state_of(from.state.leaves, place.uri());
  const StateReader reader(from, place.uri());
  reader.check(held);
  check_same_settings(state, run, place.uri());
  read_all(reader, held);
  return state;
}

}  // namespace assay::engine
