// Decoded and resized images on disk, mapped into memory by any number of readers: the form in which images reach a
// worker.
//
// Layout (little endian, every section a multiple of 8 bytes):
//   header   8 bytes magic "ASSAYIMG", u32 version, u32 zero, i64 width, i64 height, 32 bytes zero
//   images   one after the other: u8 planes[3][height][width]; zeros at the end of the section to a multiple of 8
//   labels   i32 labels[images], and zero to a multiple of 8
//   classes  the classes' names by label, each followed by a line feed; zeros to a multiple of 8
//   trailer  u64 images, u64 classes, u64 bytes of the names, 8 bytes magic "ASSAYEND"
// Pixels stand in planes because that is how a network takes them. Labels and names stand behind them so that a writer
// needs no more memory than one image.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace assay::data {

/// Writes an image file image by image under a temporary name; nothing stands at `path` before Finish() has succeeded.
class ImageFileWriter {
 public:
  /// `classes` are the names of labels 0, 1, ...; none may hold a line feed.
  static Result<ImageFileWriter> Create(const std::string& path, int64_t width, int64_t height,
                                        std::vector<std::string> classes);

  /// `planes` are 3 x height x width bytes; `label` is below the number of classes.
  Status Append(std::span<const uint8_t> planes, int32_t label);

  /// Writes what stands behind the images, syncs, and renames the file to its final name. Fails without any image.
  Status Finish();

 private:
  ImageFileWriter(AtomicFile file, size_t image_bytes, std::vector<std::string> classes)
      : file_(std::move(file)), image_bytes_(image_bytes), classes_(std::move(classes)) {}
  Status Pad(size_t written);

  AtomicFile file_;
  size_t image_bytes_;
  std::vector<std::string> classes_;
  std::vector<int32_t> labels_;
};

/// A mapped image file. Immutable, cheap to copy, and safe to read from several threads.
class ImageFile {
 public:
  /// Fails with one line when the file is missing, truncated, of another version or not an image file. Every size and
  /// label is checked; pixels are not read.
  static Result<ImageFile> Open(const std::string& path);

  int64_t images() const;
  int64_t width() const;
  int64_t height() const;
  /// Names of the classes, by label.
  const std::vector<std::string>& classes() const;

  /// The planes of image `index`: 3 x height x width bytes.
  std::span<const uint8_t> planes(int64_t index) const;
  std::span<const int32_t> labels() const;

 private:
  struct Mapping;
  explicit ImageFile(std::shared_ptr<const Mapping> mapping) : mapping_(std::move(mapping)) {}
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace assay::data
