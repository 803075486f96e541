// Where labelled images come from: folders of files, or the digits that the project ships.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "image/image.h"

namespace assay::data {

/// A sequence of labelled images that can be read at any position. Immutable; safe from several threads.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual int64_t size() const = 0;
  /// Image `index` in its own size; an error names the file.
  virtual Result<image::Image> Read(int64_t index) const = 0;
  virtual int32_t label(int64_t index) const = 0;
  /// SHA-256 of what decides image `index`; an error names the file.
  virtual Result<std::string> ContentHash(int64_t index) const = 0;
  /// What the images come from, for messages: a path or a data set's id.
  virtual const std::string& name() const = 0;
};

/// A data set in its parts, with one list of classes.
struct ImageSplits {
  std::vector<std::string> classes;  ///< names by label, sorted
  std::unique_ptr<ImageSource> train;
  std::unique_ptr<ImageSource> eval;  ///< null when the data set has no part to evaluate on
};

/// Images of a folder, one folder a class below it: NAME/.../*.jpg, *.jpeg, *.png in any case; other files are left
/// alone, and so is what begins with a dot. With a folder `train` in it, that is the part to train on and the first of
/// `validation`, `val`, `valid` and `test` the part to evaluate on; else all of it is to train on. Classes are those of
/// the part to train on; one that is in the other part alone is an error.
Result<ImageSplits> OpenImageFolder(const std::string& path);

/// The id of the handwritten digits.
inline constexpr char kDigitsId[] = "digits";

/// The handwritten digits of `share_dir`: 1,797 grey images of 8 x 8 pixels, 10 classes. Every fifth image of a class,
/// in the order of the file, is for evaluation (355), the others for training (1,442).
Result<ImageSplits> OpenDigits(const std::string& share_dir);

}  // namespace assay::data
