#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "image/decoders.h"

namespace assay::image {
namespace {

/// libpng reports an error by a call that must not return. Every function that calls into it therefore sets a jump
/// target first, and owns nothing that would have to be destroyed.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Reads up to the pixels and chooses what they are converted to. False: see reason().
  bool ReadHeader() {
    if (info_ == nullptr) {
      return Fail("out of memory");
    }
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    png_set_read_fn(png_, this, OnRead);
    // The limit on pixels is ours; libpng's own, on each side, is narrower than Pillow's.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png_, info_);
    ChooseOutput();
    passes_ = png_set_interlace_handling(png_);
    return true;
  }

  /// Fills height x width x 3 bytes, or of 16-bit grey height x width x 2. False: see reason().
  bool ReadPixels(uint8_t* pixels) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    png_read_update_info(png_, info_);
    const size_t row_bytes = png_get_rowbytes(png_, info_);
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t row = 0; row < height(); ++row) {
        png_read_row(png_, pixels + static_cast<size_t>(row) * row_bytes, nullptr);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  /// Grey of 16 bits, which is left as it is (big endian) for us to clamp.
  bool IsWideGrey() const { return wide_grey_; }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  const char* reason() const { return reason_; }

 private:
  static Reader& Of(png_structp png) { return *static_cast<Reader*>(png_get_error_ptr(png)); }

  [[noreturn]] static void OnError(png_structp png, png_const_charp message) {
    Of(png).Fail(message);
    png_longjmp(png, 1);
  }
  static void OnWarning(png_structp, png_const_charp) {}

  static void OnRead(png_structp png, png_bytep target, size_t count) {
    Reader& reader = Of(png);
    if (count > reader.rest_.size()) {
      png_error(png, "it ends too early");
    }
    std::memcpy(target, reader.rest_.data(), count);
    reader.rest_ = reader.rest_.subspan(count);
  }

  bool Fail(const char* reason) {
    std::strncpy(reason_, reason, sizeof(reason_) - 1);
    return false;
  }

  void ChooseOutput() {
    const int color = png_get_color_type(png_, info_);
    const int depth = png_get_bit_depth(png_, info_);
    if (color == PNG_COLOR_TYPE_GRAY && depth == 16) {
      wide_grey_ = true;
      return;
    }
    if (color == PNG_COLOR_TYPE_PALETTE) {
      png_set_palette_to_rgb(png_);
    } else if (depth < 8) {
      png_set_expand_gray_1_2_4_to_8(png_);
    }
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
  }

  std::span<const std::byte> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  bool wide_grey_ = false;
  char reason_[128] = {};
};

void ClampGrey(const std::vector<uint8_t>& big_endian, std::vector<uint8_t>& rgb) {
  for (size_t i = 0; 2 * i < big_endian.size(); ++i) {
    const uint8_t grey = big_endian[2 * i] != 0 ? 255 : big_endian[2 * i + 1];
    std::fill_n(rgb.begin() + static_cast<ptrdiff_t>(kChannels * i), kChannels, grey);
  }
}

}  // namespace

Result<Image> DecodePng(std::span<const std::byte> bytes, int64_t max_pixels) {
  Reader reader(bytes);
  if (!reader.ReadHeader()) {
    return CorruptImage("PNG", reader.reason());
  }
  ASSAY_RETURN_IF_ERROR(CheckSize(reader.width(), reader.height(), max_pixels));
  Image image{.width = reader.width(), .height = reader.height(), .rgb = {}};
  const auto pixels = static_cast<size_t>(image.width * image.height);
  image.rgb.resize(pixels * kChannels);
  std::vector<uint8_t> grey(reader.IsWideGrey() ? pixels * 2 : 0);
  if (!reader.ReadPixels(reader.IsWideGrey() ? grey.data() : image.rgb.data())) {
    return CorruptImage("PNG", reader.reason());
  }
  if (reader.IsWideGrey()) {
    ClampGrey(grey, image.rgb);
  }
  return image;
}

}  // namespace assay::image
