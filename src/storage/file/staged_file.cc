#include "storage/file/staged_file.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "storage/file/key_path.h"

namespace assay::storage {
namespace {

constexpr std::string_view kKeySuffix = ".key";
constexpr std::string_view kNotesSuffix = ".notes";

std::string StagingFolder(const std::string& root) {
  return root + "/" + std::string(kOwnFolder) + "/uploads";
}

std::string KeyLinkOf(const std::string& path) {
  return path + std::string(kKeySuffix);
}

void RemoveBoth(const std::string& path) {
  ::unlink(path.c_str());
  ::unlink(KeyLinkOf(path).c_str());
  ::unlink((path + std::string(kNotesSuffix)).c_str());
}

/// An open file under `path` with its link; `flags` beside reading, writing and creating.
Result<FileDescriptor> OpenWithLink(const std::string& folder, const std::string& path, const std::string& key,
                                    int flags) {
  const bool reopen = (flags & O_EXCL) == 0;
  int error = ENOENT;
  // Another store may remove the empty folder between the two steps; it cannot do so for long.
  for (int attempt = 0; attempt < 100 && error == ENOENT; ++attempt) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
    error = ::symlink(key.c_str(), KeyLinkOf(path).c_str()) == 0 || (reopen && errno == EEXIST) ? 0 : errno;
  }
  if (error != 0) {
    return ErrnoStatus(error, "write into folder", folder);
  }
  FileDescriptor fd = OpenFile(path.c_str(), O_RDWR | O_CREAT | flags);
  if (!fd.valid()) {
    error = errno;
    RemoveBoth(path);
    return ErrnoStatus(error, "write into folder", folder);
  }
  return fd;
}

std::optional<std::string> ReadLink(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) {
    return std::nullopt;
  }
  target.resize(static_cast<size_t>(size));
  return target;
}

bool IsUploadId(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<StagedFile> StagedFile::Create(const std::string& root, const std::string& key) {
  const std::string folder = StagingFolder(root);
  const std::string path = folder + "/" + RandomUid();
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor fd, OpenWithLink(folder, path, key, O_EXCL));
  return StagedFile(std::move(fd), path);
}

Result<StagedFile> StagedFile::Reopen(const std::string& root, const std::string& key, const std::string& id) {
  const std::string path = StagedPath(root, id);
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor fd, OpenWithLink(StagingFolder(root), path, key, 0));
  return StagedFile(std::move(fd), path);
}

std::string StagedPath(const std::string& root, const std::string& id) {
  return StagingFolder(root) + "/" + id;
}

std::string StagedNotesPath(const std::string& root, const std::string& id) {
  return StagedPath(root, id) + std::string(kNotesSuffix);
}

StagedFile::~StagedFile() {
  Discard();
}

void StagedFile::Discard() {
  if (fd_.valid()) {
    fd_.Reset();
    RemoveBoth(path_);
  }
}

Result<std::vector<UnfinishedUpload>> ListStaged(const std::string& root, const std::string& prefix) {
  std::vector<UnfinishedUpload> uploads;
  const std::string folder = StagingFolder(root);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (entries == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return uploads;
    }
    return ErrnoStatus(errno, "list", folder);
  }
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string id = entry->d_name;
    if (!IsUploadId(id)) {
      continue;
    }
    const std::string path = folder + "/" + id;
    const auto key = ReadLink(KeyLinkOf(path));
    struct stat status;
    if (key.has_value() && key->starts_with(prefix) && ::lstat(KeyLinkOf(path).c_str(), &status) == 0) {
      uploads.push_back({*key, id, static_cast<double>(status.st_mtim.tv_sec)});
    }
  }
  const auto order = [](const UnfinishedUpload& upload) { return std::tie(upload.key, upload.upload_id); };
  std::sort(uploads.begin(), uploads.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return uploads;
}

Status AbortStaged(const std::string& root, const std::string& key, const std::string& upload_id) {
  const std::string path = StagingFolder(root) + "/" + upload_id;
  if (!IsUploadId(upload_id) || ReadLink(KeyLinkOf(path)) != key) {
    return Status::NotFound("cannot abort upload " + upload_id + " of " + key +
                            ": there is no such upload (list the unfinished ones)");
  }
  RemoveBoth(path);
  return Status::Ok();
}

void RemoveStagingFolder(const std::string& root) {
  ::rmdir(StagingFolder(root).c_str());
  ::rmdir((root + "/" + std::string(kOwnFolder)).c_str());
}

}  // namespace assay::storage
