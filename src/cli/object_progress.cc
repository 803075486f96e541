#include "cli/object_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::cli {
namespace {

constexpr double kRefreshSeconds = 0.1;

std::string Rate(int64_t bytes, double seconds) {
  return FormatBytes(static_cast<double>(bytes) / std::max(seconds, 1e-6)) + "/s";
}

}  // namespace

TransferProgress::TransferProgress(std::string what)
    : line_(stderr), live_(IsTerminal(stderr)), what_(std::move(what)), start_(MonotonicSeconds()) {}

void TransferProgress::SetTotal(int64_t bytes, int64_t objects, bool all) {
  const std::lock_guard lock(mutex_);
  total_bytes_ = bytes;
  total_objects_ = objects;
  total_known_ = all;
  Show();
}

void TransferProgress::AddBytes(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  Show();
}

void TransferProgress::AddObject() {
  const std::lock_guard lock(mutex_);
  ++objects_;
  Show();
}

void TransferProgress::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  line_.PrintAbove(text);
}

void TransferProgress::Aside(const std::function<void()>& print) {
  const std::lock_guard lock(mutex_);
  line_.Clear();
  print();
  if (live_) {
    std::fflush(stdout);
  }
}

int64_t TransferProgress::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

double TransferProgress::seconds() const {
  return MonotonicSeconds() - start_;
}

void TransferProgress::Show() {
  const double now = MonotonicSeconds();
  if (!live_ || (now - shown_ < kRefreshSeconds && bytes_ < total_bytes_)) {
    return;
  }
  shown_ = now;
  const double passed = now - start_;
  std::string text = fmt::format("{}  {}", what_, FormatBytes(static_cast<double>(bytes_)));
  if (total_bytes_ > 0) {
    text += fmt::format(" of {}{}", FormatBytes(static_cast<double>(total_bytes_)), total_known_ ? "" : " or more");
  }
  if (total_objects_ > 1) {
    text += fmt::format("  {}/{} objects", objects_, total_objects_);
  }
  text += "  " + Rate(bytes_, passed);
  if (bytes_ > 0 && total_bytes_ > bytes_ && total_known_) {
    const double left = static_cast<double>(total_bytes_ - bytes_) * passed / static_cast<double>(bytes_);
    text += "  " + FormatSeconds(left) + " left";
  }
  line_.Update(text);
}

std::string RateText(int64_t bytes, double seconds) {
  return fmt::format("{} in {}, {}", FormatBytes(static_cast<double>(bytes)), FormatSeconds(seconds),
                     Rate(bytes, seconds));
}

}  // namespace assay::cli
