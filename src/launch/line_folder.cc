#include "launch/line_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace assay::launch {

void LineFolder::Read(const std::function<void(std::string_view)>& on_line) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().string();
    size_t& read = read_[file];
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(read));
    for (std::string line; std::getline(stream, line) && !stream.eof();) {
      read += line.size() + 1;
      on_line(line);
    }
  }
}

}  // namespace assay::launch
