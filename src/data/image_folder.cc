// A data set of images as folders of files, one folder a class.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "data/image_source.h"
#include "image/decode.h"

namespace assay::data {
namespace {

namespace fs = std::filesystem;

class FolderSource final : public ImageSource {
 public:
  struct Entry {
    std::string path;
    int32_t label;
  };

  FolderSource(std::string name, std::vector<Entry> entries) : name_(std::move(name)), entries_(std::move(entries)) {}

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  Result<image::Image> Read(int64_t index) const override { return image::ReadImage(entries_[index].path); }
  int32_t label(int64_t index) const override { return entries_[index].label; }
  const std::string& name() const override { return name_; }
  Result<std::string> ContentHash(int64_t index) const override { return Sha256HexOfFile(entries_[index].path); }

 private:
  std::string name_;
  std::vector<Entry> entries_;
};

bool IsHidden(const fs::path& path) {
  return path.filename().string().starts_with(".");
}

bool IsImage(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kExtensions = {".jpg", ".jpeg", ".png"};
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end() && !IsHidden(path);
}

Status CannotList(const std::string& path, const std::error_code& error) {
  return ErrnoStatus(error.value(), "cannot list", path);
}

/// Names of the folders in `path`, sorted.
Result<std::vector<std::string>> ListFolders(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error) && !IsHidden(entry->path())) {
      names.push_back(entry->path().filename().string());
    }
  }
  if (error) {
    return CannotList(path, error);
  }
  std::ranges::sort(names);
  return names;
}

/// Paths of the images below `path`, sorted.
Result<std::vector<std::string>> ListImages(const std::string& path) {
  std::error_code error;
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(path, fs::directory_options::follow_directory_symlink, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error)) {
      if (IsHidden(entry->path())) {
        entry.disable_recursion_pending();
      }
    } else if (IsImage(entry->path())) {
      if (!entry->is_regular_file(error)) {
        return Status::InvalidArgument(
            fmt::format("{} is no file that can be read as an image: remove it", entry->path().string()));
      }
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    return CannotList(path, error);
  }
  std::ranges::sort(paths);
  return paths;
}

/// The images of the class folders in `path`, labelled by the place of the folder's name in `classes`.
Result<std::unique_ptr<ImageSource>> OpenPart(const std::string& path, const std::vector<std::string>& classes) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolders(path));
  std::vector<FolderSource::Entry> entries;
  for (const std::string& name : names) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
      return Status::InvalidArgument(
          fmt::format("{} has a class '{}' that there are no images to train on of", path, name));
    }
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListImages(path + "/" + name));
    for (const std::string& image : paths) {
      entries.push_back({image, static_cast<int32_t>(found - classes.begin())});
    }
  }
  if (entries.empty()) {
    return Status::InvalidArgument(
        fmt::format("{} has no images; expected a folder for each class with .jpg or .png files in it", path));
  }
  return std::unique_ptr<ImageSource>(std::make_unique<FolderSource>(path, std::move(entries)));
}

/// The folder of the part to evaluate on, or empty.
std::string FindEvalFolder(const std::string& path) {
  for (const char* name : {"validation", "val", "valid", "test"}) {
    if (IsDirectory(path + "/" + name)) {
      return path + "/" + name;
    }
  }
  return "";
}

}  // namespace

Result<ImageSplits> OpenImageFolder(const std::string& path) {
  if (!IsDirectory(path)) {
    return Status::NotFound(
        fmt::format("there is no folder {}; expected one with a folder of images for each class", path));
  }
  const bool parted = IsDirectory(path + "/train");
  const std::string train = parted ? path + "/train" : path;
  ImageSplits splits;
  ASSAY_ASSIGN_OR_RETURN(splits.classes, ListFolders(train));
  ASSAY_ASSIGN_OR_RETURN(splits.train, OpenPart(train, splits.classes));
  if (const std::string eval = parted ? FindEvalFolder(path) : ""; !eval.empty()) {
    ASSAY_ASSIGN_OR_RETURN(splits.eval, OpenPart(eval, splits.classes));
  }
  return splits;
}

}  // namespace assay::data
