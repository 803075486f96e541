#include "shards/dataset/image_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace assay::shards {
namespace {

constexpr std::string_view kImageNames[] = {"image", "img", "jpg", "jpeg", "png"};
constexpr std::string_view kLabelNames[] = {"label", "cls", "class"};

bool IsInteger(const Encoding& encoding) {
  return encoding.kind == EncodingKind::kScalar && encoding.dtype && !IsFloat(*encoding.dtype);
}

bool IsFile(const Encoding& encoding) {
  return encoding.kind == EncodingKind::kBytes;
}

std::optional<size_t> Find(const ShardSchema& schema, std::span<const std::string_view> names,
                           bool (*holds)(const Encoding&)) {
  const auto column = std::ranges::find_if(schema.columns, [&](const Column& candidate) {
    return std::ranges::find(names, candidate.name) != names.end() && holds(candidate.encoding);
  });
  return column == schema.columns.end() ? std::nullopt
                                        : std::optional(static_cast<size_t>(column - schema.columns.begin()));
}

}  // namespace

Result<ImageColumns> FindImageColumns(const ShardSchema& schema) {
  const std::optional<size_t> image = Find(schema, kImageNames, &IsFile);
  const std::optional<size_t> label = Find(schema, kLabelNames, &IsInteger);
  if (!image || !label) {
    return Status::InvalidArgument(
        fmt::format("it has no {}: expected one named {}",
                    image ? "column of labels, which are integers" : "column of images (jpeg, png or bytes)",
                    image ? "label, cls or class" : "image, img, jpg, jpeg or png"));
  }
  return ImageColumns{.image = *image, .label = *label};
}

}  // namespace assay::shards
