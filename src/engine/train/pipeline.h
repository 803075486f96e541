// One step of training, and a forward pass, through the stages of a model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "engine/comm/communicator.h"
#include "engine/model/vit.h"
#include "engine/shard/shard_engine.h"
#include "engine/train/image_batches.h"
#include "engine/train/phase_meter.h"
#include "engine/train/task.h"

namespace assay::engine {

/// This rank's stage of the model, which is all of it where there is one stage. Works through the micro-batches of a
/// step in the order of one_forward_one_backward(); activations and their gradients go from stage to stage as messages.
/// All stages make the same calls.
class Pipeline {
 public:
  /// The micro-batch's pixels where the stage begins the model, and its labels where it ends it.
  using BatchSource = std::function<ImageBatch(int64_t micro_batch)>;

  /// `stages`: the ranks with the other parts, in order, and a second group of them for gradients; null: there are
  /// none. They and `model` outlive this.
  Pipeline(Vit& model, Communicator* stages, Communicator* back) : model_(model), stages_(stages), back_(back) {}

  /// Adds the gradients of `micro_batches` batches of `images` to those in `engine`, which reduces them with the last
  /// one, or with each unless `no_sync`. Returns the mean loss where the stage ends the model, else 0. Waiting for
  /// other stages counts to the pass that waits.
  double train(ShardEngine& engine, const BatchSource& batch_of, int64_t micro_batches, int64_t images, bool no_sync,
               PhaseMeter& meter, StepUse& use);

  /// Logits of `images` where the stage ends the model, else undefined; `pixels` count where it begins it.
  at::Tensor logits(const at::Tensor& pixels_BCHW, int64_t images);

  int64_t stage() const { return stages_ == nullptr ? 0 : stages_->rank(); }
  int64_t stages() const { return stages_ == nullptr ? 1 : stages_->size(); }

 private:
  /// From a micro-batch's forward to its backward.
  struct InFlight {
    at::Tensor input;   ///< a leaf; undefined where the stage begins the model
    at::Tensor output;  ///< the loss where it ends it
  };

  at::Tensor receive(Communicator& group, int64_t images, int from, std::string_view what);
  void send(Communicator& group, const at::Tensor& tensor, int to, std::string_view what,
            std::deque<WorkPtr>& under_way);
  void run_forward(const ImageBatch& batch, int64_t micro_batches, int64_t images);
  void run_backward(ShardEngine& engine, int64_t images, bool last, bool no_sync);
  void wait_for_sends();

  Vit& model_;
  Communicator* stages_;
  Communicator* back_;
  std::deque<InFlight> in_flight_;
  std::deque<WorkPtr> sent_activations_;
  std::deque<WorkPtr> sent_gradients_;
  double loss_sum_ = 0;
};

}  // namespace assay::engine
