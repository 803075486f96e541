#include <algorithm>
#include <array>
#include <csetjmp>

// libjpeg's headers need what stands before them.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "image/decoders.h"

namespace assay::image {
namespace {

/// libjpeg reports an error by a call that must not return. Every function that calls into it therefore sets a jump
/// target first, and owns nothing that would have to be destroyed.
struct ErrorManager {
  jpeg_error_mgr base;  ///< must come first: libjpeg hands out a pointer to it
  std::jmp_buf jump;
  char reason[JMSG_LENGTH_MAX];
  bool corrupt;
};

ErrorManager& ErrorsOf(j_common_ptr info) {
  return *reinterpret_cast<ErrorManager*>(info->err);
}

[[noreturn]] void OnError(j_common_ptr info) {
  ErrorManager& errors = ErrorsOf(info);
  info->err->format_message(info, errors.reason);
  std::longjmp(errors.jump, 1);
}

/// Warnings come where the decoder goes on with data that it made up, and at some that do not matter.
void OnMessage(j_common_ptr info, int level) {
  constexpr std::array<int, 6> kMadeUp = {JWRN_ARITH_BAD_CODE, JWRN_BOGUS_PROGRESSION, JWRN_HIT_MARKER,
                                          JWRN_HUFF_BAD_CODE,  JWRN_JPEG_EOF,          JWRN_MUST_RESYNC};
  ErrorManager& errors = ErrorsOf(info);
  if (level < 0 && !errors.corrupt && std::ranges::find(kMadeUp, info->err->msg_code) != kMadeUp.end()) {
    info->err->format_message(info, errors.reason);
    errors.corrupt = true;
  }
}

/// Owns libjpeg's state for one file.
class Decompressor {
 public:
  Decompressor() {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = OnError;
    errors_.base.emit_message = OnMessage;
    if (setjmp(errors_.jump) == 0) {
      jpeg_create_decompress(&info_);
    }
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Reads up to the pixels and chooses what they are converted to. False: see reason().
  bool ReadHeader(std::span<const std::byte> bytes) {
    if (setjmp(errors_.jump) != 0) {
      return false;
    }
    jpeg_mem_src(&info_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = IsCmyk() ? JCS_CMYK : JCS_RGB;
    return true;
  }

  /// Fills height x width x (3 or, of CMYK, 4) bytes. False: see reason().
  bool ReadPixels(uint8_t* pixels) {
    if (setjmp(errors_.jump) != 0) {
      return false;
    }
    jpeg_start_decompress(&info_);
    const size_t row_bytes = size_t{info_.output_width} * static_cast<size_t>(info_.output_components);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return !errors_.corrupt;
  }

  bool IsCmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  int64_t width() const { return info_.image_width; }
  int64_t height() const { return info_.image_height; }
  const char* reason() const { return errors_.reason; }

 private:
  ErrorManager errors_ = {};
  jpeg_decompress_struct info_ = {};
};

/// (a x b) / 255, rounded.
uint8_t MultiplyDivide255(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>(((product >> 8) + product) >> 8);
}

/// Ink as Adobe stores it, inverted, to light, as Pillow converts it.
void CmykToRgb(const std::vector<uint8_t>& cmyk, std::vector<uint8_t>& rgb) {
  for (size_t i = 0; 4 * i < cmyk.size(); ++i) {
    const int white = cmyk[4 * i + 3];
    for (size_t channel = 0; channel < kChannels; ++channel) {
      const int ink = 255 - cmyk[4 * i + channel];
      rgb[kChannels * i + channel] = static_cast<uint8_t>(white - MultiplyDivide255(ink, white));
    }
  }
}

}  // namespace

Result<Image> DecodeJpeg(std::span<const std::byte> bytes, int64_t max_pixels) {
  Decompressor decompressor;
  if (!decompressor.ReadHeader(bytes)) {
    return CorruptImage("JPEG", decompressor.reason());
  }
  ASSAY_RETURN_IF_ERROR(CheckSize(decompressor.width(), decompressor.height(), max_pixels));
  Image image{.width = decompressor.width(), .height = decompressor.height(), .rgb = {}};
  const auto pixels = static_cast<size_t>(image.width * image.height);
  image.rgb.resize(pixels * kChannels);
  std::vector<uint8_t> cmyk(decompressor.IsCmyk() ? pixels * 4 : 0);
  if (!decompressor.ReadPixels(decompressor.IsCmyk() ? cmyk.data() : image.rgb.data())) {
    return CorruptImage("JPEG", decompressor.reason());
  }
  if (decompressor.IsCmyk()) {
    CmykToRgb(cmyk, image.rgb);
  }
  return image;
}

}  // namespace assay::image
