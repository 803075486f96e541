#include "data/prepare_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/image_file.h"
#include "data/image_source.h"
#include "image/resize.h"

namespace assay::data {
namespace {

/// A change of decoding, resizing or the file's format must change this.
constexpr std::string_view kImagesCacheVersion = "1";
/// Pixels held in memory at once.
constexpr int64_t kBatchBytes = 64 << 20;

Result<ImageSplits> OpenSplits(const ImageSpec& spec) {
  if (spec.data.empty()) {
    return Status::InvalidArgument("no data set is given; expected a folder of images or 'digits'");
  }
  // A folder of that name comes before the data set of that id.
  if (spec.data == kDigitsId && !IsDirectory(spec.data)) {
    return OpenDigits(spec.share_dir.empty() ? ShareDirectory() : spec.share_dir);
  }
  return OpenImageFolder(spec.data);
}

/// SHA-256 over content and labels, in order.
Result<std::string> HashOf(const ImageSource& source, int threads) {
  std::vector<std::optional<Result<std::string>>> hashes(static_cast<size_t>(source.size()));
  ParallelFor(source.size(), threads, [&](int64_t i) { hashes[i].emplace(source.ContentHash(i)); });
  std::string all;
  for (int64_t i = 0; i < source.size(); ++i) {
    ASSAY_RETURN_IF_ERROR(hashes[i]->status());
    all += fmt::format("{} {}\n", source.label(i), **hashes[i]);
  }
  return Sha256Hex(all);
}

/// Decodes one part into a file.
class PartWriter {
 public:
  PartWriter(const ImageSource& source, const ImageSpec& spec, int threads)
      : source_(source), spec_(spec), threads_(threads) {}

  Status Run(const std::string& path, const std::vector<std::string>& classes, std::vector<std::string>& reasons) {
    ASSAY_ASSIGN_OR_RETURN(ImageFileWriter writer, ImageFileWriter::Create(path, spec_.width, spec_.height, classes));
    const int64_t batch =
        std::clamp<int64_t>(kBatchBytes / (image::kChannels * spec_.width * spec_.height), 1, source_.size());
    for (int64_t first = 0; first < source_.size(); first += batch) {
      ASSAY_RETURN_IF_ERROR(WriteBatch(first, std::min(batch, source_.size() - first), writer, reasons));
    }
    if (static_cast<int64_t>(reasons.size()) == source_.size()) {
      return Status::InvalidArgument(fmt::format("none of the {} images of {} can be decoded; the first: {}",
                                                 source_.size(), source_.name(), reasons.front()));
    }
    return writer.Finish();
  }

 private:
  using Planes = std::vector<uint8_t>;

  Result<Planes> Decode(int64_t index) const {
    ASSAY_ASSIGN_OR_RETURN(const image::Image image, source_.Read(index));
    Planes planes(static_cast<size_t>(image::kChannels * spec_.width * spec_.height));
    image::ToPlanes(image::Resize(image, spec_.width, spec_.height), planes.data());
    return planes;
  }

  Status WriteBatch(int64_t first, int64_t count, ImageFileWriter& writer, std::vector<std::string>& reasons) const {
    std::vector<std::optional<Result<Planes>>> decoded(static_cast<size_t>(count));
    ParallelFor(count, threads_, [&](int64_t i) { decoded[i].emplace(Decode(first + i)); });
    for (int64_t i = 0; i < count; ++i) {
      const Result<Planes>& planes = *decoded[i];
      if (planes.ok()) {
        ASSAY_RETURN_IF_ERROR(writer.Append(*planes, source_.label(first + i)));
      } else if (spec_.skip_corrupt && planes.status().code() == ErrorCode::kInvalidArgument) {
        reasons.push_back(planes.status().message());
      } else {
        return {planes.status().code(),
                planes.status().message() + "; replace or remove it, or leave such images out (--skip-corrupt)"};
      }
    }
    return Status::Ok();
  }

  const ImageSource& source_;
  const ImageSpec& spec_;
  int threads_;
};

/// The cached file, if it is whole and holds all images, or all that can be decoded where others may be left out.
bool IsUsable(const std::string& path, int64_t images, bool skip_corrupt) {
  if (!FileExists(path)) {
    return false;
  }
  const auto file = ImageFile::Open(path);
  return file.ok() && (file->images() == images || (skip_corrupt && file->images() < images));
}

Result<PreparedPart> PreparePart(const ImageSource& source, const std::string& hash, const ImageSplits& splits,
                                 const ImageSpec& spec, int threads) {
  const std::string folder = (spec.cache_dir.empty() ? UserCacheDirectory() : spec.cache_dir) + "/images";
  const std::string key = Sha256Hex(
      fmt::format("{}\n{}\n{} {}\n{}", kImagesCacheVersion, hash, spec.width, spec.height, Join(splits.classes, "\n")));
  PreparedPart part{.file = fmt::format("{}/{}.images", folder, key)};
  part.cached = IsUsable(part.file, source.size(), spec.skip_corrupt);
  if (!part.cached) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
    ASSAY_RETURN_IF_ERROR(PartWriter(source, spec, threads).Run(part.file, splits.classes, part.reasons));
  }
  ASSAY_ASSIGN_OR_RETURN(const ImageFile file, ImageFile::Open(part.file));
  part.images = file.images();
  part.skipped = source.size() - part.images;
  return part;
}

}  // namespace

Result<PreparedImages> PrepareImages(const ImageSpec& spec) {
  const double start = MonotonicSeconds();
  ASSAY_ASSIGN_OR_RETURN(const ImageSplits splits, OpenSplits(spec));
  const int threads = spec.threads > 0 ? static_cast<int>(spec.threads) : UsableThreads();
  PreparedImages prepared{.train = {}, .eval = {}, .classes = splits.classes, .data_hash = {}};
  ASSAY_ASSIGN_OR_RETURN(const std::string train_hash, HashOf(*splits.train, threads));
  ASSAY_ASSIGN_OR_RETURN(prepared.train, PreparePart(*splits.train, train_hash, splits, spec, threads));
  std::string eval_hash;
  if (splits.eval != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(eval_hash, HashOf(*splits.eval, threads));
    ASSAY_ASSIGN_OR_RETURN(prepared.eval, PreparePart(*splits.eval, eval_hash, splits, spec, threads));
  }
  prepared.data_hash = Sha256Hex(train_hash + "\n" + eval_hash);
  prepared.seconds = MonotonicSeconds() - start;
  return prepared;
}

}  // namespace assay::data
