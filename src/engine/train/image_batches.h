// The images that each rank trains on in each step, as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/image_file.h"
#include "engine/model/image_classifier.h"
#include "engine/train/order.h"
#include "engine/train/streamed_images.h"
#include "job/vit_plan.h"

namespace assay::engine {

struct ImageBatch {
  at::Tensor pixels_BCHW;  ///< float32, normalised
  at::Tensor labels_B;     ///< int64
};

/// What a model reads of an image's planes: (value / 255 - mean) / std, by channel.
class PixelValues {
 public:
  explicit PixelValues(const job::VitPlan& plan);
  /// `planes` are 3 of as many bytes each; `values` has room for as many.
  void put(std::span<const uint8_t> planes, float* values) const;

 private:
  std::vector<float> table_;  ///< of every byte, channel by channel
};

/// Images of a file by index.
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
  PixelValues values_;
};

/// What one data rank of several trains on. Not safe to use from two threads.
class ImageBatches {
 public:
  /// `rank` of `ranks` that see different images. Without `pixels` those of a stream are not decoded. Throws
  /// StatusError as ImageSet and StreamedImages do, and when an epoch has no whole global batch.
  ImageBatches(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks,
               bool pixels = true);

  /// Images of the data set; 0: they are drawn.
  int64_t images() const { return set_ ? set_->images() : stream_ ? stream_->images() : 0; }
  /// Null without a stream.
  ReadAhead* read_ahead() { return stream_ ? &stream_->read_ahead() : nullptr; }
  /// What the stream has cost so far; nothing without one.
  std::optional<job::DataUse> data_use() const { return stream_ ? std::optional(stream_->use()) : std::nullopt; }
  /// Whole global batches in an epoch; 0 when images are drawn.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// This rank's part of micro-batch `micro` (from 0) of step `step` (from 1). Drawn images are a function of the
  /// plan's seed, the step and their place in the global batch alone. Pixels stay undefined unless wanted.
  ImageBatch micro_batch(int64_t step, int64_t micro, bool want_pixels = true);

 private:
  ImageBatch draw(int64_t step, int64_t first, int64_t count, bool want_pixels) const;
  /// Of a stream: this rank's images [first, first + count) of step `step`.
  ImageBatch streamed(int64_t step, int64_t first, int64_t count, bool want_pixels);

  const job::VitPlan& plan_;
  int64_t image_size_;
  int64_t channels_;
  int64_t synthetic_labels_;
  int64_t rank_;
  int64_t global_batch_;
  int64_t steps_per_epoch_ = 0;
  std::optional<ImageSet> set_;
  std::optional<RowOrder> order_;
  PixelValues values_;
  std::unique_ptr<StreamedImages> stream_;
  int64_t streamed_step_ = 0;
  std::vector<StreamedImage> streamed_;  ///< of that step
};

}  // namespace assay::engine
