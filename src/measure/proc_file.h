// Files of /proc that are read over and over.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace assay::measure {

/// A small file that stays open: a read is one system call. One of a process goes on meaning that process when its
/// number is given to another.
class ProcFile {
 public:
  ProcFile() = default;
  explicit ProcFile(const std::string& path) : fd_(OpenFile(path.c_str(), O_RDONLY)) {}

  /// The first 4 KiB as they are now; empty when the file or its process is gone. Valid until the next call.
  std::string_view Read();

 private:
  FileDescriptor fd_;
  std::array<char, 4096> buffer_;
};

/// What /proc/PID/stat says of a process (man 5 proc).
struct ProcessStat {
  char state = 0;
  double own_cpu_seconds = 0;       ///< user and system, of all its threads
  double children_cpu_seconds = 0;  ///< of the children that ended and were waited for
  double virtual_bytes = 0;         ///< 0 for one that has given its memory back, on its way to a zombie
  double rss_bytes = 0;

  bool lives() const { return state != 'Z' && state != 'X' && virtual_bytes > 0; }
};

/// Nothing for a text that is no stat line.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

/// Number after `key` in lines of "key: 123 kB" or "key 123"; 0 when it is not there.
double NumberAfter(std::string_view text, std::string_view key);

}  // namespace assay::measure
