// A folder in which agents write their lines, each in a file of its own, followed while they do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace assay::launch {

/// Belongs to one thread.
class LineFolder {
 public:
  explicit LineFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Tells every whole line that came since the last call, those of a file in their order. A folder or file that cannot
  /// be read now may be later.
  void Read(const std::function<void(std::string_view)>& on_line);

 private:
  const std::string path_;
  std::map<std::string, size_t> read_;  ///< bytes of whole lines told, by file
};

}  // namespace assay::launch
