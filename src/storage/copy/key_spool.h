// Keys that are kept for later, however many: few in memory, more in a file that goes with the program.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::storage {

/// The file is in the folder for temporary files, under no name. Belongs to one thread.
class KeySpool {
 public:
  Status Add(const std::string& key);
  int64_t size() const { return size_; }
  /// Calls `take` with `batch` keys at a time, in the order in which they came; its error ends it.
  Status ForEachBatch(size_t batch, const std::function<Status(const std::vector<std::string>&)>& take);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// Moves what is in memory to the end of the file.
  Status Spill();

  std::string waiting_;  ///< what is not in the file: all, while that is little
  std::unique_ptr<std::FILE, Close> file_;
  int64_t size_ = 0;
};

}  // namespace assay::storage
