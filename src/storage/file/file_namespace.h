// The namespace of a file store: which file holds the object of a key, and how files come under and leave their names.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/file/staged_file.h"
#include "storage/object_store.h"

namespace assay::storage {

/// flock(2), or what a test puts in its place.
using LockFolder = int (*)(int fd, int operation);

/// All changes of names hold an advisory lock (flock) on the root folder, across processes too; file systems without
/// such locks (some network ones) leave only the atomicity of rename and link, which is not enough for If-Match: it is
/// refused there. Folders behind symbolic links are no part of the namespace: nothing is read, written or removed
/// through them. A link to a file is an object; a write replaces the link, not the file. Safe from any thread.
class FileNamespace {
 public:
  FileNamespace(std::string root, LockFolder lock) : root_(std::move(root)), lock_(lock) {}

  const std::string& root() const { return root_; }
  std::string Uri(std::string_view key) const;

  /// The object's file, open for reading; invalid when there is none. It goes on being that version of the object
  /// whatever happens to the name.
  Result<FileDescriptor> Open(const std::string& key) const;

  /// Whether `condition` can be held to on this file system: else Unsupported.
  Status CheckCondition(const std::string& key, const WriteCondition& condition) const;

  enum class Outcome { kPublished, kConditionFailed };
  /// Gives the file `staged` the name of `key` when `condition` holds, replacing what was there in one step; `staged`
  /// is gone then. Makes the folders on the way; a file that stands where a folder must be moves aside, under its own
  /// key still. NotFound when there is no `staged`; InvalidArgument where a device, a pipe or a socket stands, which is
  /// left alone, and where a link to anything but a file stands on the way.
  Result<Outcome> Publish(StagedFile& staged, const std::string& key, const WriteCondition& condition,
                          bool durable) const;

  /// One status a key; folders that become empty go too. Fine for what does not exist.
  std::vector<Status> Remove(std::span<const std::string> keys, bool durable) const;

 private:
  /// Paths of folders, relative to the root, that got or lost an entry.
  using Changed = std::set<std::string>;
  struct Lock {
    FileDescriptor root;
    bool held = false;
  };

  std::string Absolute(std::string_view relative) const { return root_ + "/" + std::string(relative); }
  /// Held while names change. The kernel gives it back when the descriptor closes, also after kill -9.
  Result<Lock> Take() const;
  /// The folder above `path`, made with all on the way to it.
  Result<FileDescriptor> MakeFolderOf(int root, const std::string& path, Changed& changed) const;
  /// Makes way for a folder of that path, relative to the root, and makes it.
  Status MakeFolder(int parent, const std::string& path, const std::string& name) const;
  Status RemoveOne(int root, const std::string& key, Changed& changed) const;
  Status Sync(int root, const Changed& changed) const;

  const std::string root_;
  const LockFolder lock_;
};

}  // namespace assay::storage
