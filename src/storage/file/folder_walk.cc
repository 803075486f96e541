#include "storage/file/folder_walk.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "storage/file/folder_below.h"
#include "storage/file/key_path.h"
#include "storage/file/object_attributes.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

using FileKind = FolderWalk::FileKind;

/// Dangling links are no objects. Of what cannot be looked at nobody knows that it is none: that is an error.
Result<FileKind> KindOf(const std::string& path, const dirent& entry) {
  if (entry.d_type == DT_REG) {
    return FileKind::kFile;
  }
  if (entry.d_type == DT_DIR) {
    return FileKind::kFolder;
  }
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) {
    return FileKind::kOther;
  }
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Result<FileKind>(FileKind::kOther) : ErrnoStatus(errno, "read", path);
  }
  if (S_ISREG(status.st_mode)) {
    return FileKind::kFile;
  }
  return S_ISDIR(status.st_mode) && entry.d_type == DT_UNKNOWN ? FileKind::kFolder : FileKind::kOther;
}

// Whether the object of `key` lies at `path`, and not some file whose name merely looks escaped.
bool IsPathOf(const std::string& key, const std::string& path) {
  const std::string expected = PathOfKey(key);
  return path == expected || path == PathBesideFolder(expected);
}

}  // namespace

FolderWalk::FolderWalk(std::string root) : root_(std::move(root)) {}

Status FolderWalk::Take(FileKind kind, const EntryName& name, const std::string& path, const std::string& text,
                        std::vector<Entry>& entries) const {
  const bool continued = name.kind == EntryName::Kind::kContinued;
  if (kind == FileKind::kFile && !continued) {
    entries.push_back({text + name.text, path, false});
  } else if (kind == FileKind::kFolder && name.kind == EntryName::Kind::kPlain) {
    entries.push_back({text + name.text + "/", path, true});
  } else if (kind == FileKind::kFolder && continued && text.size() + name.text.size() <= kMaxKeyBytes) {
    // Its keys lie between others of this level: a name may be shorter, or end in a slash, just where it was cut.
    return ReadFolder(path, text + name.text, entries);
  }
  return Status::Ok();
}

Status FolderWalk::ReadFolder(const std::string& path, const std::string& text, std::vector<Entry>& entries) const {
  const FileDescriptor root = OpenRoot(root_);
  const FileDescriptor folder = root.valid() ? OpenFolderBelow(root.get(), path) : FileDescriptor();
  const FolderEntries listing = folder.valid() ? ReadEntries(folder.get()) : FolderEntries(nullptr, ::closedir);
  if (listing == nullptr) {
    return errno == ENOENT || errno == ENOTDIR ? Status::Ok() : ErrnoStatus(errno, "list folder", root_ + "/" + path);
  }
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || (path.empty() && name == kOwnFolder)) {
      continue;
    }
    const std::string below = path.empty() ? std::string(name) : path + "/" + std::string(name);
    ASSAY_ASSIGN_OR_RETURN(const FileKind kind, KindOf(root_ + "/" + below, *entry));
    ASSAY_RETURN_IF_ERROR(Take(kind, DecodeName(name), below, text, entries));
  }
  return Status::Ok();
}

Status FolderWalk::Enter(const std::string& key, const std::string& path) {
  Level level = {.key = key};
  ASSAY_RETURN_IF_ERROR(ReadFolder(path, "", level.entries));
  std::erase_if(level.entries, [&](const Entry& entry) {
    return key.size() + entry.text.size() > kMaxKeyBytes || (!entry.folder && !IsPathOf(key + entry.text, entry.path));
  });
  // A plain file comes before one of the same key beside a folder, and hides it as it does for reads.
  std::sort(level.entries.begin(), level.entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.text, a.path) < std::tie(b.text, b.path); });
  const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text && a.folder == b.folder; };
  level.entries.erase(std::unique(level.entries.begin(), level.entries.end(), same), level.entries.end());
  levels_.push_back(std::move(level));
  return Status::Ok();
}

Result<std::optional<std::string>> FolderWalk::Settle(const std::string& from) {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.at == level.entries.size()) {
      levels_.pop_back();
      if (!levels_.empty()) {
        ++levels_.back().at;
      }
      continue;
    }
    const Entry& entry = level.entries[level.at];
    std::string key = level.key + entry.text;
    if (!entry.folder && key >= from) {
      return std::optional(std::move(key));
    }
    if (entry.folder && (key >= from || from.starts_with(key))) {
      ASSAY_RETURN_IF_ERROR(Enter(key, entry.path));
    } else {
      ++level.at;
    }
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> FolderWalk::Seek(const std::string& from) {
  // Seeks go forward: what lies before the present entry is never needed again.
  while (!levels_.empty() && !from.starts_with(levels_.back().key)) {
    levels_.pop_back();
  }
  if (levels_.empty()) {
    ASSAY_RETURN_IF_ERROR(Enter("", ""));
  }
  return Settle(from);
}

Result<std::optional<std::string>> FolderWalk::Next() {
  ++levels_.back().at;
  return Settle("");
}

Result<std::optional<ObjectInfo>> FolderWalk::Describe() {
  const Level& level = levels_.back();
  const Entry& entry = level.entries[level.at];
  struct stat status;
  if (::stat((root_ + "/" + entry.path).c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return std::optional<ObjectInfo>();
    }
    return ErrnoStatus(errno, "read", root_ + "/" + entry.path);
  }
  return std::optional(DescribeFile(-1, status, level.key + entry.text));
}

}  // namespace assay::storage
