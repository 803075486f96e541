#include "storage/file/folder_below.h"

#include <algorithm>
#include <cerrno>

namespace assay::storage {
namespace {

FileDescriptor OpenAt(int folder, const char* name, int flags) {
  return FileDescriptor(RetryOnSignal([&] { return ::openat(folder, name, flags | O_DIRECTORY | O_CLOEXEC); }));
}

}  // namespace

FileDescriptor OpenRoot(const std::string& root) {
  return OpenAt(AT_FDCWD, root.c_str(), O_PATH);
}

FileDescriptor OpenFolderIn(int parent, const std::string& name) {
  return OpenAt(parent, name.c_str(), O_PATH | O_NOFOLLOW);
}

FileDescriptor OpenFolderBelow(int parent, std::string_view path) {
  if (path.empty()) {
    return OpenAt(parent, ".", O_PATH);
  }
  FileDescriptor folder;
  do {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    folder = OpenFolderIn(folder.valid() ? folder.get() : parent, name);
  } while (folder.valid() && !path.empty());
  return folder;
}

FileDescriptor OpenToRead(int folder) {
  return OpenAt(folder, ".", O_RDONLY);
}

FolderEntries ReadEntries(int folder) {
  const int fd = RetryOnSignal([&] { return ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  FolderEntries entries(fd >= 0 ? ::fdopendir(fd) : nullptr, ::closedir);
  if (entries == nullptr && fd >= 0) {
    ::close(fd);
  }
  return entries;
}

SplitFilePath::SplitFilePath(const std::string& path) : name(path) {
  if (const size_t slash = path.rfind('/'); slash != std::string::npos) {
    folder = path.substr(0, slash);
    name = path.substr(slash + 1);
  }
}

}  // namespace assay::storage
