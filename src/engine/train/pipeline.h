// One step of training, and a forward pass, through the stages of a model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "engine/comm/communicator.h"
#include "engine/train/phase_meter.h"
#include "engine/train/task.h"

namespace assay::engine {

/// This rank's stage of a model, and the residual stream that goes from stage to stage.
struct PipelineStage {
  bool begins_model = true;
  bool ends_model = true;
  int64_t hidden = 0;  ///< features of the stream
  at::ScalarType dtype = at::kFloat;
  /// The ranks with the other stages, in order, and a second group of them for what goes back; null: there are none.
  Communicator* ranks = nullptr;
  Communicator* back = nullptr;
};

/// What a stage does with the micro-batches of a step.
struct PipelineWork {
  int64_t micro_batches = 1;
  /// Makes one ready; may be empty.
  std::function<void(int64_t micro_batch)> load = {};
  /// Tokens of its stream. Called where there are other stages alone.
  std::function<int64_t(int64_t micro_batch)> tokens = {};
  /// From the stream [T, H] that the stage before gave, undefined where the stage begins the model, to the stream that
  /// goes on, or the loss where it ends the model.
  std::function<at::Tensor(int64_t micro_batch, const at::Tensor& input)> forward = {};
  /// Adds the gradients of what forward() gave, of which `gradient` is the gradient; undefined: it is the loss.
  std::function<void(int64_t micro_batch, const at::Tensor& output, const at::Tensor& gradient)> backward = {};
};

/// Works through the micro-batches of a step in the order of one_forward_one_backward(), there and back one by one
/// where there is one stage; streams and their gradients go from stage to stage as messages. All stages make the same
/// calls.
class Pipeline {
 public:
  explicit Pipeline(const PipelineStage& stage) : stage_(stage) {}

  /// Waiting for other stages counts to the pass that waits.
  void train(const PipelineWork& work, PhaseMeter& meter, StepUse& use);

  /// What `pass` makes of `tokens` tokens of the stream, as PipelineWork::forward() does, without a way back: its
  /// result where the stage ends the model, else undefined.
  at::Tensor forward(int64_t tokens, const std::function<at::Tensor(const at::Tensor& input)>& pass);

  int64_t stage() const { return stage_.ranks == nullptr ? 0 : stage_.ranks->rank(); }
  int64_t stages() const { return stage_.ranks == nullptr ? 1 : stage_.ranks->size(); }

 private:
  /// From a micro-batch's forward to its backward.
  struct InFlight {
    at::Tensor input;  ///< a leaf; undefined where the stage begins the model
    at::Tensor output;
  };

  at::Tensor receive(Communicator& group, int64_t tokens, int64_t from, std::string_view what);
  void send(Communicator& group, const at::Tensor& tensor, int64_t to, std::string_view what,
            std::deque<WorkPtr>& under_way);
  void run_forward(const PipelineWork& work, int64_t micro_batch);
  void run_backward(const PipelineWork& work, int64_t micro_batch);
  void wait_for_sends();

  PipelineStage stage_;
  std::deque<InFlight> in_flight_;
  std::deque<WorkPtr> sent_activations_;
  std::deque<WorkPtr> sent_gradients_;
};

}  // namespace assay::engine
