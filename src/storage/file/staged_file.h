// Files on their way to a name: an upload that nobody sees until it is published.
#pragma once

#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// An open file in `root`/.assay/uploads, named by its upload id, beside a symbolic link "id.key" whose target is the
/// key it is meant for; so what a killed program left can be listed and aborted. The destructor removes both. Where
/// ".assay" or "uploads" is a link nothing is written.
class StagedFile {
 public:
  /// Makes the root and the folder of uploads where missing.
  static Result<StagedFile> Create(const std::string& root, const std::string& key);
  /// A file under no name, in the folder that its key will have where that is there, of which nothing is left whatever
  /// ends the program: for what is written at once. Costs a fraction of Create(), which it falls back to where the file
  /// system has none such, or the root is missing.
  static Result<StagedFile> CreateUnnamed(const std::string& root, const std::string& key);
  /// The file of that id (32 lower-case hexadecimal digits), with what it holds where it is there already.
  static Result<StagedFile> Reopen(const std::string& root, const std::string& key, const std::string& id);
  StagedFile(StagedFile&&) noexcept = default;
  StagedFile& operator=(StagedFile&&) noexcept = delete;
  ~StagedFile();

  int fd() const { return fd_.get(); }
  /// The folder it is in, for the *at calls, and its name there.
  int folder() const { return folder_.get(); }
  const std::string& name() const { return name_; }
  bool valid() const { return fd_.valid(); }
  bool is_named() const { return !name_.empty(); }

  /// Gives an unnamed file the name `name` in `folder`, where nothing has it. 0 or an errno.
  int Link(int folder, const std::string& name) const;
  /// Makes of an unnamed file what Create() would have.
  Status TakeName(const std::string& root, const std::string& key);

  /// The file stays, for Reopen().
  void Keep() { fd_.Reset(); }
  /// Frees the disk space now.
  void Discard();

 private:
  StagedFile(FileDescriptor fd, FileDescriptor folder, std::string name)
      : fd_(std::move(fd)), folder_(std::move(folder)), name_(std::move(name)) {}
  static Result<StagedFile> Open(const std::string& root, const std::string& key, std::string name, int flags);

  FileDescriptor fd_;
  FileDescriptor folder_;
  std::string name_;
};

/// A file for notes on one that can be reopened, beside it; removed with it.
struct StagedNotes {
  FileDescriptor fd;      ///< to read, and to append
  FileDescriptor folder;  ///< it is in, for the *at calls
  std::string name;       ///< there
};
/// Made where missing. An error where a link stands on the way, or in its place.
Result<StagedNotes> OpenStagedNotes(const std::string& root, const std::string& id);

Result<std::vector<UnfinishedUpload>> ListStaged(const std::string& root, const std::string& prefix);
Status AbortStaged(const std::string& root, const std::string& key, const std::string& upload_id);
/// Removes the folder of uploads when it is empty.
void RemoveStagingFolder(const std::string& root);

}  // namespace assay::storage
