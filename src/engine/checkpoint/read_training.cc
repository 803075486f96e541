#include "engine/checkpoint/read_training.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/find.h"
#include "checkpoint/tensor/read_together.h"
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
      const auto tensor = find(model_name(state.name));
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

  void read(const std::vector<HeldState>& held) const {
    const at::NoGradGuard no_grad;
    read_steps(held);
    Targets targets;
    for (const HeldState& state : held) {
      add(model_name(state.name), state, state.weight, targets);
      for (const Moment& moment : state.moments) {
        if (*state.steps > 0) {
          add(moment_name(state.name, moment.name), state, moment.values, targets);
        } else {
          moment.values.zero_();  // it may have come from a checkpoint that turned out to be damaged
        }
      }
    }
    throw_if_error(checkpoint::ReadTogether(targets.in_place, kTensorsAtATime));
    convert(targets.converted);
  }

 private:
  std::shared_ptr<const Tensor> find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

  /// A stretch of a tensor that is not read where it is to be: in another type, or of another device.
  struct Converted {
    std::shared_ptr<const Tensor> tensor;
    std::vector<checkpoint::Box> boxes;
    at::Tensor target;
    at::ScalarType type;
  };
  struct Targets {
    std::vector<checkpoint::TensorRead> in_place;
    std::vector<Converted> converted;
  };

  void read_steps(const std::vector<HeldState>& held) const {
    std::vector<float> steps(held.size(), 0);
    std::vector<checkpoint::TensorRead> reads;
    for (size_t i = 0; i < held.size(); ++i) {
      const auto tensor = held[i].steps == nullptr ? nullptr : find(moment_name(held[i].name, kSteps));
      if (tensor == nullptr) {
        continue;
      }
      if (tensor->dtype != checkpoint::DType::kFloat32 || tensor->elements() != 1) {
        throw_invalid_argument("its counts of updates are no single float32: it is not the checkpoint of a training");
      }
      reads.push_back({tensor, std::as_writable_bytes(std::span(&steps[i], 1))});
    }
    throw_if_error(checkpoint::ReadTogether(reads, kTensorsAtATime));
    for (size_t i = 0; i < held.size(); ++i) {
      if (held[i].steps != nullptr) {
        *held[i].steps = static_cast<int64_t>(steps[i]);
      }
    }
  }

  /// The stretch of the tensor called `name`.
  void add(const std::string& name, const HeldState& state, const at::Tensor& target, Targets& targets) const {
    const auto tensor = find(name);
    if (tensor == nullptr || tensor->shape != state.shape) {
      throw_invalid_argument(
          fmt::format("{} has no '{}' of the shape {}", uri_, name, checkpoint::ShapeText(state.shape)));
    }
    const std::optional<at::ScalarType> type = scalar_type_of(tensor->dtype);
    if (!type) {
      throw_invalid_argument(
          fmt::format("{}: '{}' is of {}, which no training has", uri_, name, checkpoint::InfoOf(tensor->dtype).name));
    }
    if (!target.is_cpu() || target.scalar_type() != *type) {
      targets.converted.push_back({tensor, state.boxes(), target, *type});
      return;
    }
    std::ranges::move(reads_of(tensor, state.boxes(), target), std::back_inserter(targets.in_place));
  }

  /// Of boxes of `tensor` into `memory`, one behind the other.
  static std::vector<checkpoint::TensorRead> reads_of(const std::shared_ptr<const Tensor>& tensor,
                                                      const std::vector<checkpoint::Box>& boxes,
                                                      const at::Tensor& memory) {
    std::vector<checkpoint::TensorRead> reads;
    auto* bytes = static_cast<std::byte*>(memory.mutable_data_ptr());
    for (const checkpoint::Box& box : boxes) {
      const auto size = static_cast<size_t>(checkpoint::BytesOf(tensor->dtype, checkpoint::Count(box.sizes)));
      reads.push_back({std::make_shared<const Tensor>(checkpoint::Narrow(*tensor, box)), {bytes, size}});
      bytes += size;
    }
    return reads;
  }

  /// Some at a time, so that little memory is needed beside the targets.
  static void convert(const std::vector<Converted>& converted) {
    std::mutex mutex;
    std::exception_ptr failed;
    ParallelFor(static_cast<int64_t>(converted.size()), kTensorsAtATime, [&](int64_t i) {
      const at::NoGradGuard no_grad;
      const Converted& one = converted[static_cast<size_t>(i)];
      try {
        const at::Tensor memory = at::empty({one.target.numel()}, at::TensorOptions().dtype(one.type));
        throw_if_error(checkpoint::ReadTogether(reads_of(one.tensor, one.boxes, memory), 1));
        one.target.copy_(memory);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
      }
    });
    if (failed != nullptr) {
      std::rethrow_exception(failed);
    }
  }

  std::string uri_;
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> tensors_;
};

}  // namespace

TrainingState read_training(const checkpoint::Place& place, const std::map<std::string, std::string>& run,
                            const std::vector<HeldState>& held) {
  const checkpoint::Checkpoint from = value_or_throw(checkpoint::OpenCheckpoint(place));
  TrainingState state = training_state_of(from.state.leaves, place.uri());
  const StateReader reader(from, place.uri());
  reader.check(held);
  check_same_settings(state, run, place.uri());
  reader.read(held);
  return state;
}

}  // namespace assay::engine
