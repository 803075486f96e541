#include "image/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/files.h"
#include "image/decoders.h"

namespace assay::image {
namespace {

constexpr std::array<uint8_t, 3> kJpegStart = {0xff, 0xd8, 0xff};
constexpr std::array<uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <size_t kSize>
bool StartsWith(std::span<const std::byte> bytes, const std::array<uint8_t, kSize>& start) {
  return bytes.size() >= kSize &&
         std::ranges::equal(bytes.first(kSize), start, {}, [](std::byte byte) { return static_cast<uint8_t>(byte); });
}

}  // namespace

void ToPlanes(const Image& image, uint8_t* planes) {
  const int64_t pixels = image.width * image.height;
  const uint8_t* rgb = image.rgb.data();
  for (int64_t i = 0; i < pixels; ++i) {
    planes[i] = rgb[kChannels * i];
    planes[pixels + i] = rgb[kChannels * i + 1];
    planes[2 * pixels + i] = rgb[kChannels * i + 2];
  }
}

Status CorruptImage(std::string_view format, std::string_view reason) {
  return Status::InvalidArgument(fmt::format("it is a corrupt or truncated {} file ({})", format, reason));
}

Status CheckSize(int64_t width, int64_t height, int64_t max_pixels) {
  if (width <= max_pixels / height) {
    return Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("it states {} x {} pixels, more than the {} that are read at most", width, height, max_pixels));
}

Result<Image> DecodeImage(std::span<const std::byte> bytes, int64_t max_pixels) {
  if (StartsWith(bytes, kJpegStart)) {
    return DecodeJpeg(bytes, max_pixels);
  }
  if (StartsWith(bytes, kPngStart)) {
    return DecodePng(bytes, max_pixels);
  }
  return Status::InvalidArgument(bytes.empty() ? "it is empty" : "it is neither a JPEG nor a PNG file");
}

Result<Image> ReadImage(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  Result<Image> image = DecodeImage(std::as_bytes(std::span(content)));
  return image.ok() ? std::move(image) : image.status().WithContext("cannot read image " + path);
}

}  // namespace assay::image
