#include "http/trickle_watch.h"

#include <algorithm>

namespace assay::http {
namespace {

// "Several minutes", say the documents of S3.
constexpr double kBlankSeconds = 900;

bool IsBlank(std::byte byte) {
  return byte == std::byte{' '} || byte == std::byte{'\t'} || byte == std::byte{'\r'} || byte == std::byte{'\n'};
}

}  // namespace

void TrickleWatch::Begin() {
  first_at_ = 0;
  window_bytes_ = 0;
  blank_ = true;
}

bool TrickleWatch::Take(std::span<const std::byte> chunk, double now) {
  if (window_seconds_ <= 0) {
    return true;
  }
  if (first_at_ == 0) {
    first_at_ = window_at_ = now;
  }
  if (blank_) {
    blank_ = std::ranges::all_of(chunk, &IsBlank);
    window_at_ = now;
    window_bytes_ = 0;
    if (blank_) {
      return now - first_at_ < kBlankSeconds;
    }
  }
  window_bytes_ += chunk.size();
  const double passed = now - window_at_;
  if (passed < window_seconds_) {
    return true;
  }
  const bool fast = static_cast<double>(window_bytes_) >= bytes_per_s_ * passed;
  window_at_ = now;
  window_bytes_ = 0;
  return fast;
}

}  // namespace assay::http
