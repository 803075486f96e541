// The temporary folder of one run: held while its controller lives, swept by the next one when it was killed.
#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace assay::launch {

/// A folder assay-run-XXXXXX under $TMPDIR (or /tmp), locked until the destructor removes it. The lock ends with the
/// process, whatever ended it.
class RunDirectory {
 public:
  /// Sweeps what dead controllers of this user left, then makes a folder.
  static Result<RunDirectory> Create();
  RunDirectory(RunDirectory&&) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::string& path() const { return path_; }

 private:
  RunDirectory(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileDescriptor lock_;
};

/// Removes the run folders under `parent` that belong to this user and that no process holds.
void SweepRunDirectories(const std::string& parent);

}  // namespace assay::launch
