#include "engine/train/streamed_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "image/decode.h"
#include "image/resize.h"
#include "shards/dataset/image_columns.h"

namespace assay::engine {

StreamedImages::StreamedImages(const job::VitPlan& plan, const ImageModelConfig& config, int64_t rank, int64_t ranks,
                               bool pixels)
    : side_(config.image_size),
      labels_(config.num_labels),
      pixels_(pixels),
      steps_(StreamedSource(plan, {.batch = plan.batch_size, .rank = rank, .ranks = ranks, .drops_rest = true}),
             [this](const shards::StreamedSample& sample) { return decode(sample); }) {
  if (config.num_channels != image::kChannels) {
    throw StatusError(Status::InvalidArgument(fmt::format(
        "the model takes images of {} channels, those of shards have {}", config.num_channels, image::kChannels)));
  }
  if (!plan.resume && steps_per_epoch() > 0) {
    steps_.begin(1);
  }
}

Result<StreamedImage> StreamedImages::decode(const shards::StreamedSample& sample) const {
  const std::string where = fmt::format("sample {}", sample.number);
  ASSAY_ASSIGN_OR_RETURN(const shards::ImageColumns columns, shards::FindImageColumns(*sample.schema));
  shards::Row row;
  std::string scratch;
  ASSAY_RETURN_IF_ERROR(shards::DecodeSample(*sample.schema, sample.bytes, row, scratch).WithContext(where));
  StreamedImage made{.planes = {}, .label = row[columns.label].integer};
  if (made.label < 0 || made.label >= labels_) {
    return Status::InvalidArgument(
        fmt::format("{}: its label is {}, the model's head has {} classes: give it more with --classes", where,
                    made.label, labels_));
  }
  if (pixels_) {
    const Result<image::Image> decoded = image::DecodeImage(std::as_bytes(std::span(row[columns.image].text)));
    ASSAY_RETURN_IF_ERROR(decoded.status().WithContext(where));
    made.planes.resize(static_cast<size_t>(image::kChannels * side_ * side_));
    image::ToPlanes(image::Resize(*decoded, side_, side_), made.planes.data());
  }
  return made;
}

}  // namespace assay::engine
