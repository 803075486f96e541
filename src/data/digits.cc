// The handwritten digits that the project ships: share/digits has a sheet of them and their labels.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"
#include "data/image_source.h"
#include "image/decode.h"

namespace assay::data {
namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kColumns = 64;  ///< digits in a row of the sheet
constexpr int64_t kClasses = 10;
constexpr int64_t kEvalEvery = 5;

/// Of one part the digits in it, by their place on the sheet.
class DigitSource final : public ImageSource {
 public:
  struct Digit {
    int64_t place;
    int32_t label;
  };

  DigitSource(std::shared_ptr<const image::Image> sheet, std::vector<Digit> digits)
      : sheet_(std::move(sheet)), digits_(std::move(digits)) {}

  int64_t size() const override { return static_cast<int64_t>(digits_.size()); }
  int32_t label(int64_t index) const override { return digits_[index].label; }
  const std::string& name() const override { return name_; }

  Result<image::Image> Read(int64_t index) const override {
    const int64_t x = digits_[index].place % kColumns * kSide;
    const int64_t y = digits_[index].place / kColumns * kSide;
    image::Image digit{.width = kSide, .height = kSide, .rgb = {}};
    for (int64_t row = y; row < y + kSide; ++row) {
      const auto begin = sheet_->rgb.begin() + (row * sheet_->width + x) * image::kChannels;
      digit.rgb.insert(digit.rgb.end(), begin, begin + kSide * image::kChannels);
    }
    return digit;
  }

  Result<std::string> ContentHash(int64_t index) const override {
    ASSAY_ASSIGN_OR_RETURN(const image::Image digit, Read(index));
    return Sha256Hex({reinterpret_cast<const char*>(digit.rgb.data()), digit.rgb.size()});
  }

 private:
  std::string name_ = kDigitsId;
  std::shared_ptr<const image::Image> sheet_;
  std::vector<Digit> digits_;
};

Result<std::vector<int32_t>> ReadLabels(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<int32_t> labels;
  for (const char letter : text) {
    if (letter >= '0' && letter <= '9') {
      labels.push_back(letter - '0');
    } else if (letter != '\n') {
      return Status::InvalidArgument(fmt::format("{} has something else than digits in it", path));
    }
  }
  return labels;
}

}  // namespace

Result<ImageSplits> OpenDigits(const std::string& share_dir) {
  const std::string folder = share_dir + "/digits";
  ASSAY_ASSIGN_OR_RETURN(image::Image sheet, image::ReadImage(folder + "/digits.png"));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> labels, ReadLabels(folder + "/labels.txt"));
  const auto count = static_cast<int64_t>(labels.size());
  if (sheet.width != kColumns * kSide || sheet.height != (count + kColumns - 1) / kColumns * kSide) {
    return Status::InvalidArgument(
        fmt::format("{}/digits.png has {} x {} pixels, which do not hold the {} digits of labels.txt", folder,
                    sheet.width, sheet.height, count));
  }
  std::array<int64_t, kClasses> seen = {};
  std::vector<DigitSource::Digit> train;
  std::vector<DigitSource::Digit> eval;
  for (int64_t place = 0; place < count; ++place) {
    const int32_t label = labels[place];
    auto& part = ++seen[static_cast<size_t>(label)] % kEvalEvery == 0 ? eval : train;
    part.push_back({place, label});
  }
  ImageSplits splits;
  for (int64_t label = 0; label < kClasses; ++label) {
    splits.classes.push_back(std::to_string(label));
  }
  const auto shared = std::make_shared<const image::Image>(std::move(sheet));
  splits.train = std::make_unique<DigitSource>(shared, std::move(train));
  splits.eval = std::make_unique<DigitSource>(shared, std::move(eval));
  return splits;
}

}  // namespace assay::data
