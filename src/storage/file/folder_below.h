// Folders below the root of a file store, reached without following a symbolic link on the way.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace assay::storage {

/// The root as it was named: links in its path, and it itself, are followed, for whoever named it meant where it leads.
/// For the *at calls only (O_PATH); invalid with errno set.
FileDescriptor OpenRoot(const std::string& root);

/// The folder `name` in `parent`. Where a link or anything else stands: invalid, with ENOTDIR.
FileDescriptor OpenFolderIn(int parent, const std::string& name);

/// The folder of that path, "a/b", below `parent`; of an empty one `parent` itself.
FileDescriptor OpenFolderBelow(int parent, std::string_view path);

/// A folder that one of these gave, for syncing it.
FileDescriptor OpenToRead(int folder);

/// The entries of a folder that one of these gave; null with errno set.
using FolderEntries = std::unique_ptr<DIR, int (*)(DIR*)>;
FolderEntries ReadEntries(int folder);

/// "a/b" and "c" of "a/b/c"; nothing and "c" of "c".
struct SplitFilePath {
  explicit SplitFilePath(const std::string& path);
  std::string folder;
  std::string name;
};

}  // namespace assay::storage
