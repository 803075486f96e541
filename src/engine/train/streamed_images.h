// Images of a data set of shards, decoded ahead of the step that trains on them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/image_classifier.h"
#include "engine/train/streamed_steps.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// At the model's size.
struct StreamedImage {
  std::vector<uint8_t> planes;  ///< 3 x height x width; none where pixels are not wanted
  int64_t label = 0;
};

/// The images of one data rank, step by step, in the order of the data set: those of all ranks together are a global
/// batch, and what fills none at the end of an epoch is left out. Not safe to use from two threads.
class StreamedImages {
 public:
  /// Reads ahead from step 1 on, of a plan that may go on from elsewhere when it is known. Without `pixels` images are
  /// not decoded. Throws StatusError as StreamedSource.
  StreamedImages(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks, bool pixels);

  int64_t images() const { return steps_.source().samples(); }
  int64_t steps_per_epoch() const { return steps_.source().steps_per_epoch(); }
  /// Those of this rank in step `step` (from 1), as StreamedSteps::of_step().
  std::vector<StreamedImage> images_of(int64_t step) { return steps_.of_step(step); }
  job::DataUse use() const { return steps_.use(); }
  ReadAhead& read_ahead() { return steps_; }

 private:
  Result<StreamedImage> decode(const shards::StreamedSample& sample) const;

  const int64_t side_;
  const int64_t labels_;
  const bool pixels_;
  StreamedSteps<StreamedImage> steps_;
};

}  // namespace assay::engine
