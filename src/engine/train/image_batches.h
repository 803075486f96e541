// The images that each rank trains on in each step, as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "data/image_file.h"
#include "engine/model/image_classifier.h"
#include "engine/train/order.h"
#include "job/vit_plan.h"

namespace assay::engine {

struct ImageBatch {
  at::Tensor pixels_BCHW;  ///< float32, normalised
  at::Tensor labels_B;     ///< int64
};

/// Images of a file by index: bytes become (value / 255 - mean) / std, by channel.
class ImageSet {
 public:
  /// Throws StatusError when the file cannot be read, or does not suit the model: another size, or more classes.
  ImageSet(const std::string& path, const job::VitPlan& plan, const ImageModelConfig& config);

  int64_t images() const { return file_.images(); }
  ImageBatch batch(const std::vector<int64_t>& indices) const;
  /// Without pixels.
  at::Tensor labels(const std::vector<int64_t>& indices) const;

 private:
  data::ImageFile file_;
  std::vector<float> values_;  ///< of every byte, channel by channel
};

/// What one data rank of several trains on. Not safe to use from two threads.
class ImageBatches {
 public:
  /// `rank` of `ranks` that see different images. Throws StatusError as ImageSet does, and when an epoch has no whole
  /// global batch.
  ImageBatches(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks);

  /// Images of the data set; 0: they are drawn.
  int64_t images() const { return set_ ? set_->images() : 0; }
  /// Whole global batches in an epoch; 0 when images are drawn.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// This rank's part of micro-batch `micro` (from 0) of step `step` (from 1). Drawn images are a function of the
  /// plan's seed, the step and their place in the global batch alone. Pixels stay undefined unless wanted.
  ImageBatch micro_batch(int64_t step, int64_t micro, bool want_pixels = true);

 private:
  ImageBatch draw(int64_t step, int64_t first, int64_t count, bool want_pixels) const;

  const job::VitPlan& plan_;
  int64_t image_size_;
  int64_t channels_;
  int64_t synthetic_labels_;
  int64_t rank_;
  int64_t global_batch_;
  int64_t steps_per_epoch_ = 0;
  std::optional<ImageSet> set_;
  std::optional<RowOrder> order_;
};

}  // namespace assay::engine
