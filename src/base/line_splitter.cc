#include "base/line_splitter.h"

#include <utility>

namespace assay {

LineSplitter::LineSplitter(std::function<void(std::string_view)> on_line) : on_line_(std::move(on_line)) {}

void LineSplitter::Append(std::string_view bytes) {
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (pending_.empty()) {
      on_line_(bytes.substr(0, end));
    } else {
      pending_ += bytes.substr(0, end);
      on_line_(std::exchange(pending_, std::string()));
    }
    bytes.remove_prefix(end + 1);
  }
  pending_ += bytes;
  if (pending_.size() >= kMaxLineBytes) {
    Finish();
  }
}

void LineSplitter::Finish() {
  if (!pending_.empty()) {
    on_line_(std::exchange(pending_, std::string()));
  }
}

}  // namespace assay
