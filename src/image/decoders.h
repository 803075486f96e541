// The decoders behind decode.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"
#include "image/image.h"

namespace assay::image {

/// As DecodeImage, of bytes that begin as a JPEG file does. libjpeg-turbo; arithmetic is its defaults' and so Pillow's.
Result<Image> DecodeJpeg(std::span<const std::byte> bytes, int64_t max_pixels);

/// As DecodeImage, of bytes that begin as a PNG file does. libpng.
Result<Image> DecodePng(std::span<const std::byte> bytes, int64_t max_pixels);

/// "it is a corrupt or truncated JPEG file (Premature end of JPEG file)"
Status CorruptImage(std::string_view format, std::string_view reason);

/// Refuses sizes beyond kMaxPixels.
Status CheckSize(int64_t width, int64_t height, int64_t max_pixels);

}  // namespace assay::image
