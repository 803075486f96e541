// Memory of blocks that are written, for those to come.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace assay::shards {

/// Pages that the system has to clear but once. Owned by a shared_ptr; safe from several threads.
class SpareBuffers : public std::enable_shared_from_this<SpareBuffers> {
 public:
  /// An empty buffer with room for `bytes`.
  std::string Take(size_t bytes);
  /// `buffer` for any number of readers, behind the last of whom it is a spare.
  std::shared_ptr<const std::string> Share(std::string buffer);

 private:
  std::mutex mutex_;
  std::vector<std::string> spares_;  // guarded by mutex_
};

}  // namespace assay::shards
