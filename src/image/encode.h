// Images as files.
#pragma once

#include <string>

#include "base/status.h"
#include "image/image.h"

namespace assay::image {

/// The bytes of a PNG of 8-bit RGB: without loss, the same for the same pixels and release of libpng and zlib.
Result<std::string> EncodePng(const Image& image);

}  // namespace assay::image
