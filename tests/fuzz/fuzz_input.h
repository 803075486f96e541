// Helpers of fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace assay::fuzz {

/// Cuts an input into lines, one a call; empty at its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::string_view Line() {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }
  /// What is left, without taking it.
  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Ends the program, which the fuzzer takes for a finding.
inline void Require(bool holds, const char* what) {
  if (!holds) {
    std::cerr << "does not hold: " << what << '\n';
    std::abort();
  }
}

}  // namespace assay::fuzz
