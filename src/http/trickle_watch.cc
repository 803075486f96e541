#include "http/trickle_watch.h"

#include <algorithm>

namespace assay::http {
namespace {

// "Several minutes", say the documents of S3.
constexpr double kBlankSeconds = 900;
/// Lines are not shared evenly: a transfer has its part of what came with so little of an equal one.
constexpr double kLeastPart = 0.125;

bool IsBlank(std::byte byte) {
  return byte == std::byte{' '} || byte == std::byte{'\t'} || byte == std::byte{'\r'} || byte == std::byte{'\n'};
}

}  // namespace

void TrickleWatch::Begin() {
  first_at_ = 0;
  window_bytes_ = 0;
  blank_ = true;
}

void TrickleWatch::BeginWindow(double now) {
  window_at_ = now;
  window_bytes_ = 0;
  all_at_window_ = all_.bytes;
}

bool TrickleWatch::IsFast(double seconds) const {
  const auto own = static_cast<double>(window_bytes_);
  const auto all = static_cast<double>(all_.bytes - all_at_window_);
  const double least = bytes_per_s_ * seconds;
  return own >= least || (all >= least && own * static_cast<double>(all_.transfers) >= kLeastPart * all);
}

bool TrickleWatch::Take(std::span<const std::byte> chunk, double now) {
  if (window_seconds_ <= 0) {
    return true;
  }
  if (first_at_ == 0) {
    first_at_ = now;
    BeginWindow(now);
  }
  if (blank_) {
    blank_ = std::ranges::all_of(chunk, &IsBlank);
    BeginWindow(now);
    if (blank_) {
      return now - first_at_ < kBlankSeconds;
    }
  }
  window_bytes_ += chunk.size();
  const double passed = now - window_at_;
  if (passed < window_seconds_) {
    return true;
  }
  const bool fast = IsFast(passed);
  BeginWindow(now);
  return fast;
}

}  // namespace assay::http
