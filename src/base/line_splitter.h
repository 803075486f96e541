// Bytes in, lines out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay {

/// Cuts a stream of bytes into lines, given without their newline. A line beyond 16 MiB is given in pieces, so that a
/// source without newlines cannot exhaust memory.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(std::string_view)> on_line);
  void Append(std::string_view bytes);
  /// Gives what stands after the last newline, if anything.
  void Finish();

 private:
  static constexpr size_t kMaxLineBytes = 16 << 20;
  std::function<void(std::string_view)> on_line_;
  std::string pending_;
};

}  // namespace assay
