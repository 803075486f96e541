// JPEG and PNG files: what is decoded has all of its pixels.
#include <span>

#include "fuzz_input.h"
#include "image/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  // A few bytes can state any size, and pixels take time.
  constexpr int64_t kMostPixels = 1 << 16;
  const Result<image::Image> decoded = image::DecodeImage(std::as_bytes(std::span(data, size)), kMostPixels);
  if (decoded.ok()) {
    fuzz::Require(decoded->width > 0 && decoded->height > 0, "an image has pixels");
    fuzz::Require(static_cast<int64_t>(decoded->rgb.size()) == decoded->width * decoded->height * image::kChannels,
                  "an image has all of its pixels");
  }
  return 0;
}
