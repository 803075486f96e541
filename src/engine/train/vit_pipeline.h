// The stages of a vision transformer at work on images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/model/vit.h"
#include "engine/train/image_batches.h"
#include "engine/train/pipeline.h"
#include "engine/train/updater.h"

namespace assay::engine {

/// This rank's stage, which is all of the model where there is one stage. All stages make the same calls.
class VitPipeline {
 public:
  /// The micro-batch's pixels where the stage begins the model, and its labels where it ends it.
  using BatchSource = std::function<ImageBatch(int64_t micro_batch)>;

  /// `stages` and `back` as in PipelineStage; they and `model` outlive this.
  VitPipeline(Vit& model, Communicator* stages, Communicator* back);

  /// Adds the gradients of the mean loss over `micro_batches` batches of `images`, of all data ranks, to those of
  /// `updater`. Returns the losses where the stage ends the model, else none.
  std::vector<at::Tensor> train(Updater& updater, const BatchSource& batch_of, int64_t micro_batches, int64_t images,
                                PhaseMeter& meter, StepUse& use);

  /// Logits of `images` where the stage ends the model, else undefined; `pixels` count where it begins it.
  at::Tensor logits(const at::Tensor& pixels_BCHW, int64_t images);

  int64_t stage() const { return pipeline_.stage(); }
  int64_t stages() const { return pipeline_.stages(); }

 private:
  Vit& model_;
  Pipeline pipeline_;
};

}  // namespace assay::engine
