#include "image/encode.h"

#include <fmt/format.h>
#include <png.h>

namespace assay::image {

Result<std::string> EncodePng(const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  const auto write = [&](void* memory, png_alloc_size_t& bytes) {
    return png_image_write_to_memory(&png, memory, &bytes, /*convert_to_8_bit=*/0, image.rgb.data(), /*row_stride=*/0,
                                     /*colormap=*/nullptr) != 0;
  };
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(png), '\0');
  png_alloc_size_t bytes = file.size();
  if (!write(file.data(), bytes)) {
    return Status::Internal(
        fmt::format("an image of {} x {} cannot be written as PNG: {}", image.width, image.height, png.message));
  }
  file.resize(bytes);
  return file;
}

}  // namespace assay::image
