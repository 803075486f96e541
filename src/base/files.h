// Files: whole-file reading, atomic writing, mapping, and the places a program keeps its things.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay {

bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);

Result<std::string> ReadFile(const std::string& path);

/// Writes `content` under a temporary name in the same folder, syncs it, and renames it to `path`: readers see the old
/// file or the whole new one. On an error nothing is left behind.
Status WriteFileAtomically(const std::string& path, std::string_view content);

/// Makes `path` and its parents; fine when it exists.
Status MakeDirectories(const std::string& path);

/// Fails now, with one line, when no file can be created in folder `path` (made if missing).
Status CheckWritableDirectory(const std::string& path);

/// Streams bytes to a temporary file beside `path`; Commit() syncs and renames, the destructor removes what was not
/// committed.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text);
  /// What was written is on the disk: what it lacks (space) shows here. Commit() does it where it was not done.
  Status Sync();
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  std::string path_;
  std::string temporary_;
  int fd_;
};

/// A file mapped read-only (private). Immutable; safe from several threads; unmapped with the last owner.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  size_t size_;
};

/// A folder under $TMPDIR (or /tmp) that is removed, with what is in it, by the destructor.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> Create(std::string_view prefix);
  TemporaryDirectory(TemporaryDirectory&&) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Absolute path of the running program.
std::string ExecutablePath();
/// Read-only data of the project: $ASSAY_SHARE, else ../share/assay beside the program's folder.
std::string ShareDirectory();
/// Where the user's data lives: $XDG_DATA_HOME/assay, else ~/.local/share/assay.
std::string UserDataDirectory();
/// Where re-creatable files live: $XDG_CACHE_HOME/assay, else ~/.cache/assay.
std::string UserCacheDirectory();

/// SHA-256 in lower-case hexadecimal.
std::string Sha256Hex(std::string_view bytes);
Result<std::string> Sha256HexOfFile(const std::string& path);

}  // namespace assay
