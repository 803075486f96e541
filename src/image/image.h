// An image in memory: what decoders make and what resizing makes of it.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::image {

inline constexpr int64_t kChannels = 3;

/// 8-bit RGB, rows from top to bottom, a pixel's channels beside each other. Plain data.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;  ///< height x width x 3
};

/// The pixels as three planes (3 x height x width), as networks take them; `planes` has room for them.
void ToPlanes(const Image& image, uint8_t* planes);

}  // namespace assay::image
