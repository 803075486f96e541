#include "engine/train/image_batches.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr int64_t kByteValues = 256;
constexpr int64_t kChannels = 3;  // of an image file

std::vector<float> table_of_values(const job::VitPlan& plan) {
  std::vector<float> values;
  for (size_t channel = 0; channel < kChannels; ++channel) {
    for (int64_t byte = 0; byte < kByteValues; ++byte) {
      const double value = static_cast<double>(byte) / 255.0;
      values.push_back(static_cast<float>((value - plan.image_mean[channel]) / plan.image_std[channel]));
    }
  }
  return values;
}

void check_suits(const std::string& path, const data::ImageFile& file, const ImageModelConfig& config) {
  if (file.width() != config.image_size || file.height() != config.image_size || config.num_channels != kChannels) {
    throw StatusError(Status::InvalidArgument(fmt::format(
        "{}: its images are {} x {} with {} channels, the model takes {} x {} with {}: prepare them for this model",
        path, file.width(), file.height(), kChannels, config.image_size, config.image_size, config.num_channels)));
  }
  const auto classes = static_cast<int64_t>(file.classes().size());
  if (classes > config.num_labels) {
    throw StatusError(
        Status::InvalidArgument(fmt::format("{}: it has {} classes, the model's head {}: set num_labels to {}", path,
                                            classes, config.num_labels, classes)));
  }
}

}  // namespace

ImageSet::ImageSet(const std::string& path, const job::VitPlan& plan, const ImageModelConfig& config)
    : file_(value_or_throw(data::ImageFile::Open(path))), values_(table_of_values(plan)) {
  check_suits(path, file_, config);
}

ImageBatch ImageSet::batch(const std::vector<int64_t>& indices) const {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t plane = file_.width() * file_.height();
  ImageBatch batch{at::empty({count, kChannels, file_.height(), file_.width()}, at::kFloat), labels(indices)};
  auto* pixels = batch.pixels_BCHW.mutable_data_ptr<float>();
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::span<const uint8_t> bytes = file_.planes(indices[static_cast<size_t>(i)]);
      for (int64_t at = 0; at < kChannels * plane; ++at) {
        const int64_t value = at / plane * kByteValues + bytes[static_cast<size_t>(at)];
        pixels[i * kChannels * plane + at] = values_[static_cast<size_t>(value)];
      }
    }
  });
  return batch;
}

at::Tensor ImageSet::labels(const std::vector<int64_t>& indices) const {
  const at::Tensor labels_B = at::empty({static_cast<int64_t>(indices.size())}, at::kLong);
  auto* labels = labels_B.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    labels[i] = file_.labels()[static_cast<size_t>(indices[i])];
  }
  return labels_B;
}

ImageBatches::ImageBatches(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks)
    : plan_(plan),
      image_size_(config.image_size),
      channels_(config.num_channels),
      synthetic_labels_(std::min(plan.synthetic_labels, config.num_labels)),
      rank_(rank),
      global_batch_(plan.batch_size * ranks) {
  if (plan.synthetic) {
    return;
  }
  set_.emplace(plan.train_file, plan, config);
  steps_per_epoch_ = set_->images() / global_batch_;
  if (steps_per_epoch_ == 0) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the {} images to train on do not fill one batch of {} on {} ranks: lower the batch size",
                    set_->images(), plan.batch_size, ranks)));
  }
  order_.emplace(
      OrderOptions{.rows = set_->images(), .batch_size = global_batch_, .shuffle = plan.shuffle, .seed = plan.seed});
}

ImageBatch ImageBatches::micro_batch(int64_t step, int64_t micro, bool want_pixels) {
  const int64_t count = plan_.batch_size / job::MicroBatches(plan_);
  const int64_t first = rank_ * plan_.batch_size + micro * count;
  if (!set_) {
    return draw(step, first, count, want_pixels);
  }
  // The order's epochs end with the partial batch that is left out here.
  const int64_t epoch = (step - 1) / steps_per_epoch_;
  const int64_t step_of_order = epoch * order_->steps_per_epoch() + (step - 1) % steps_per_epoch_ + 1;
  const std::vector<int64_t> global = order_->micro_batches(step_of_order).front();
  const std::vector<int64_t> own(global.begin() + first, global.begin() + first + count);
  return want_pixels ? set_->batch(own) : ImageBatch{{}, set_->labels(own)};
}

ImageBatch ImageBatches::draw(int64_t step, int64_t first, int64_t count, bool want_pixels) const {
  ImageBatch batch{{}, at::empty({count}, at::kLong)};
  if (want_pixels) {
    batch.pixels_BCHW = at::empty({count, channels_, image_size_, image_size_}, at::kFloat);
  }
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = stream_key(plan_.seed, fmt::format("image {} of step {}", first + i, step));
    if (want_pixels) {
      at::Tensor image = batch.pixels_BCHW.select(0, i);
      fill_normal(image, 1.0, key);
    }
    batch.labels_B.mutable_data_ptr<int64_t>()[i] =
        static_cast<int64_t>(key % static_cast<uint64_t>(synthetic_labels_));
  }
  return batch;
}

}  // namespace assay::engine
