#include "data/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "data/cache_file.h"
#include "image/image.h"

namespace assay::data {
namespace {

constexpr CacheFileKind kKind = {.name = "image file", .magic = {'A', 'S', 'S', 'A', 'Y', 'I', 'M', 'G'}, .version = 1};
/// Sides beyond it are nobody's; products of sizes then fit 64 bits.
constexpr int64_t kMaxSide = 1 << 16;

struct Header {
  FileMagic magic;
  uint32_t version;
  uint32_t zero;
  int64_t width;
  int64_t height;
  std::array<char, 32> padding;
};
static_assert(sizeof(Header) == 64);

struct Trailer {
  uint64_t images;
  uint64_t classes;
  uint64_t name_bytes;
  FileMagic magic;
};
static_assert(sizeof(Trailer) == 32);

constexpr uint64_t PaddedSize(uint64_t size) {
  return (size + 7) / 8 * 8;
}

Status ReadHeader(const std::string& path, std::span<const std::byte> bytes, Header& header) {
  ASSAY_RETURN_IF_ERROR(kKind.CheckStart(path, bytes, sizeof(Header) + sizeof(Trailer)));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.width < 1 || header.width > kMaxSide || header.height < 1 || header.height > kMaxSide) {
    return kKind.Truncated(path, bytes.size());
  }
  return Status::Ok();
}

}  // namespace

Result<ImageFileWriter> ImageFileWriter::Create(const std::string& path, int64_t width, int64_t height,
                                                std::vector<std::string> classes) {
  if (width < 1 || width > kMaxSide || height < 1 || height > kMaxSide) {
    return Status::InvalidArgument(
        fmt::format("images of {} x {} pixels make no sense; expected 1 to {}", width, height, kMaxSide));
  }
  for (const std::string& name : classes) {
    if (name.find('\n') != std::string::npos) {
      return Status::InvalidArgument("a class has a line feed in its name; rename its folder");
    }
  }
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  const Header header = {kKind.magic, kKind.version, 0, width, height, {}};
  ASSAY_RETURN_IF_ERROR(file.Write(BytesOf(header)));
  return ImageFileWriter(std::move(file), static_cast<size_t>(image::kChannels * width * height), std::move(classes));
}

Status ImageFileWriter::Append(std::span<const uint8_t> planes, int32_t label) {
  if (planes.size() != image_bytes_ || label < 0 || static_cast<size_t>(label) >= classes_.size()) {
    return Status::Internal(fmt::format("cannot write an image of {} bytes with label {}", planes.size(), label));
  }
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(planes)));
  labels_.push_back(label);
  return Status::Ok();
}

Status ImageFileWriter::Pad(size_t written) {
  constexpr std::array<std::byte, 8> kZeros = {};
  return file_.Write(std::span(kZeros).first(PaddedSize(written) - written));
}

Status ImageFileWriter::Finish() {
  if (labels_.empty()) {
    return Status::InvalidArgument("there is no image to write");
  }
  std::string names;
  for (const std::string& name : classes_) {
    names += name + "\n";
  }
  const Trailer trailer = {labels_.size(), classes_.size(), names.size(), kCacheFileEnd};
  ASSAY_RETURN_IF_ERROR(Pad(labels_.size() * image_bytes_));
  ASSAY_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(labels_))));
  ASSAY_RETURN_IF_ERROR(Pad(labels_.size() * sizeof(int32_t)));
  ASSAY_RETURN_IF_ERROR(file_.Write(names));
  ASSAY_RETURN_IF_ERROR(Pad(names.size()));
  ASSAY_RETURN_IF_ERROR(file_.Write(BytesOf(trailer)));
  return file_.Commit();
}

struct ImageFile::Mapping {
  std::shared_ptr<const MappedFile> file;
  Header header;
  Trailer trailer;
  std::span<const int32_t> labels;
  std::vector<std::string> classes;

  size_t image_bytes() const { return static_cast<size_t>(image::kChannels * header.width * header.height); }

  /// Finds the sections behind the images. False: sizes or labels are not as they must be.
  bool ReadIndex() {
    const std::span<const std::byte> bytes = file->bytes();
    std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof(Trailer), sizeof(Trailer));
    // The counts are compared before they are multiplied: a damaged one must not overflow.
    const uint64_t size = bytes.size() - sizeof(Header) - sizeof(Trailer);
    if (trailer.magic != kCacheFileEnd || trailer.images < 1 || trailer.images > size / image_bytes() ||
        trailer.name_bytes > size) {
      return false;
    }
    const uint64_t pixels = PaddedSize(trailer.images * image_bytes());
    const uint64_t label_bytes = PaddedSize(trailer.images * sizeof(int32_t));
    if (pixels + label_bytes + PaddedSize(trailer.name_bytes) != size) {
      return false;
    }
    const std::byte* index = bytes.data() + sizeof(Header) + pixels;
    labels = {reinterpret_cast<const int32_t*>(index), trailer.images};
    const std::string_view names(reinterpret_cast<const char*>(index + label_bytes), trailer.name_bytes);
    classes = Split(names.substr(0, names.empty() ? 0 : names.size() - 1), '\n');
    const auto known = [this](int32_t label) { return label >= 0 && static_cast<size_t>(label) < classes.size(); };
    return classes.size() == trailer.classes && std::ranges::all_of(labels, known);
  }
};

Result<ImageFile> ImageFile::Open(const std::string& path) {
  auto mapping = std::make_shared<Mapping>();
  ASSAY_ASSIGN_OR_RETURN(mapping->file, MappedFile::Open(path));
  ASSAY_RETURN_IF_ERROR(ReadHeader(path, mapping->file->bytes(), mapping->header));
  if (!mapping->ReadIndex()) {
    return kKind.Truncated(path, mapping->file->bytes().size());
  }
  return ImageFile(std::move(mapping));
}

int64_t ImageFile::images() const {
  return static_cast<int64_t>(mapping_->trailer.images);
}
int64_t ImageFile::width() const {
  return mapping_->header.width;
}
int64_t ImageFile::height() const {
  return mapping_->header.height;
}
const std::vector<std::string>& ImageFile::classes() const {
  return mapping_->classes;
}

std::span<const uint8_t> ImageFile::planes(int64_t index) const {
  const size_t size = mapping_->image_bytes();
  const std::byte* begin = mapping_->file->bytes().data() + sizeof(Header) + static_cast<size_t>(index) * size;
  return {reinterpret_cast<const uint8_t*>(begin), size};
}

std::span<const int32_t> ImageFile::labels() const {
  return mapping_->labels;
}

}  // namespace assay::data
