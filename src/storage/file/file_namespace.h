// The namespace of a file store: which file holds the object of a key, and how files come under and leave their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// All changes of names hold an advisory lock (flock) on the root folder, across processes too; file systems without
/// such locks (some network ones) leave only the atomicity of rename and link. Safe from any thread.
class FileNamespace {
 public:
  explicit FileNamespace(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string Uri(std::string_view key) const;

  /// The object's file, open for reading; invalid when there is none. It goes on being that version of the object
  /// whatever happens to the name.
  Result<FileDescriptor> Open(const std::string& key) const;

  enum class Outcome { kPublished, kConditionFailed };
  /// Gives the file `staged` (of the same file system) the name of `key` when `condition` holds, replacing what was
  /// there in one step; `staged` is gone then. Makes the folders on the way; a file that stands where a folder must be
  /// moves aside, under its own key still. NotFound when there is no `staged`; InvalidArgument where a device, a pipe
  /// or a socket stands, which is left alone.
  Result<Outcome> Publish(const std::string& staged, const std::string& key, const WriteCondition& condition,
                          bool durable) const;

  /// One status a key; folders that become empty go too. Fine for what does not exist.
  std::vector<Status> Remove(std::span<const std::string> keys, bool durable) const;

 private:
  std::string Absolute(std::string_view relative) const { return root_ + "/" + std::string(relative); }
  /// The name the object has, or would get: beside the folder when one has its plain name.
  std::string TargetOf(const std::string& path) const;
  /// Makes the folders above `path`; adds the folders that got a new entry to `changed`.
  Status MakeParents(const std::string& path, std::vector<std::string>& changed) const;
  Status RemoveOne(const std::string& key, std::vector<std::string>& changed) const;

  const std::string root_;
};

/// Makes the entries of `folder` (or of its nearest ancestor that still exists) durable.
Status SyncFolder(std::string folder);

}  // namespace assay::storage
