// JPEG and PNG files to 8-bit RGB, as Pillow's Image.open(file).convert("RGB") makes it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "image/image.h"

namespace assay::image {

/// Images of more pixels are refused: a small file can claim to be huge. Pillow's limit (twice MAX_IMAGE_PIXELS).
inline constexpr int64_t kMaxPixels = 178'956'970;

/// Decodes a whole file's bytes; what they begin with says what they are. Grey is repeated, palettes are looked up,
/// alpha is dropped, of 16-bit colours the high byte is kept, 16-bit grey is clamped to 255 (Pillow does both), CMYK is
/// taken as Adobe writes it (inverted). Colour profiles and the orientation in EXIF are ignored, as convert() does.
///
/// Safe from several threads. Unlike Pillow, refuses data that the decoder had to make up: a truncated file, broken
/// codes, a wrong checksum; and more than `max_pixels`. An error says in one line what is wrong; the name of the file
/// is the caller's to add.
Result<Image> DecodeImage(std::span<const std::byte> bytes, int64_t max_pixels = kMaxPixels);

/// Reads and decodes a file; an error names it.
Result<Image> ReadImage(const std::string& path);

}  // namespace assay::image
