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

constexpr size_t kByteValues = 256;
constexpr int64_t kChannels = 3;  // of an image file

std::vector<float> table_of_values(const job::VitPlan& plan) {
  std::vector<float> values;
  for (size_t channel = 0; channel < kChannels; ++channel) {
    for (size_t byte = 0; byte < kByteValues; ++byte) {
      const double value = static_cast<double>(byte) / 255.0;
      values.push_back(static_cast<float>((value - plan.image_mean[channel]) / plan.image_std[channel]));
    }
  }
  return values;
}

at::Tensor empty_pixels(int64_t count, int64_t height, int64_t width) {
  return at::empty({count, kChannels, height, width}, at::kFloat);
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

PixelValues::PixelValues(const job::VitPlan& plan) : table_(table_of_values(plan)) {}

void PixelValues::put(std::span<const uint8_t> planes, float* values) const {
  const size_t plane = planes.size() / kChannels;
  for (size_t at = 0; at < planes.size(); ++at) {
    values[at] = table_[at / plane * kByteValues + planes[at]];
  }
}

ImageSet::ImageSet(const std::string& path, const job::VitPlan& plan, const ImageModelConfig& config)
    : file_(value_or_throw(data::ImageFile::Open(path))), values_(plan) {
  check_suits(path, file_, config);
}

ImageBatch ImageSet::batch(const std::vector<int64_t>& indices) const {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t plane = file_.width() * file_.height();
  ImageBatch batch{empty_pixels(count, file_.height(), file_.width()), labels(indices)};
  auto* pixels = batch.pixels_BCHW.mutable_data_ptr<float>();
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      values_.put(file_.planes(indices[static_cast<size_t>(i)]), pixels + i * kChannels * plane);
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

ImageBatches::ImageBatches(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks,
                           bool pixels)
    : plan_(plan),
      image_size_(config.image_size),
      channels_(config.num_channels),
      synthetic_labels_(std::min(plan.synthetic_labels, config.num_labels)),
      rank_(rank),
      global_batch_(plan.batch_size * ranks),
      values_(plan) {
  if (plan.synthetic) {
    return;
  }
  if (plan.data_uri.empty()) {
    set_.emplace(plan.train_file, plan, config);
  } else {
    stream_ = std::make_unique<StreamedImages>(plan, config, rank, ranks, pixels);
  }
  steps_per_epoch_ = images() / global_batch_;
  if (steps_per_epoch_ == 0) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the {} images to train on do not fill one batch of {} on {} ranks: lower the batch size", images(),
                    plan.batch_size, ranks)));
  }
  if (stream_) {
    return;
  }
  order_.emplace(
      OrderOptions{.rows = set_->images(), .batch_size = global_batch_, .shuffle = plan.shuffle, .seed = plan.seed});
}

ImageBatch ImageBatches::micro_batch(int64_t step, int64_t micro, bool want_pixels) {
  const int64_t count = plan_.batch_size / job::MicroBatches(plan_);
  if (stream_) {
    return streamed(step, micro * count, count, want_pixels);
  }
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

ImageBatch ImageBatches::streamed(int64_t step, int64_t first, int64_t count, bool want_pixels) {
  if (step != streamed_step_) {
    streamed_ = stream_->images_of(step);
    streamed_step_ = step;
  }
  ImageBatch batch{{}, at::empty({count}, at::kLong)};
  if (want_pixels) {
    batch.pixels_BCHW = empty_pixels(count, image_size_, image_size_);
  }
  for (int64_t i = 0; i < count; ++i) {
    const StreamedImage& image = streamed_[static_cast<size_t>(first + i)];
    batch.labels_B.mutable_data_ptr<int64_t>()[i] = image.label;
    if (want_pixels) {
      values_.put(image.planes,
                  batch.pixels_BCHW.mutable_data_ptr<float>() + i * kChannels * image_size_ * image_size_);
    }
  }
  return batch;
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
