// Resizing, bit for bit as Pillow does it.
#pragma once

#include <cstdint>

#include "image/image.h"

namespace assay::image {

/// `image` at width x height, as Pillow's Image.resize((width, height), Image.BILINEAR): a triangle filter, widened
/// when the image gets smaller so that nothing is skipped; in one direction, then in the other, each in fixed point and
/// rounded to 8 bits (Pillow, src/libImaging/Resample.c). The order of the two is that of Pillow 13: horizontal first,
/// unless the height shrinks by more than twice what the width does. (Before, it was always horizontal first: some
/// values differ by 1.) Both sizes must be at least 1, and `image` not empty. Safe from several threads.
Image Resize(const Image& image, int64_t width, int64_t height);

}  // namespace assay::image
