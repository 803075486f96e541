// One live line that follows bytes: done, of how much, rate, time left.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/terminal.h"

namespace assay::cli {

/// Writes to standard error where that is a terminal, and nothing elsewhere but lines that stay. Safe from any thread.
class TransferProgress {
 public:
  explicit TransferProgress(std::string what);
  /// `all`: no more will come; until then nothing is said of the time that is left.
  void SetTotal(int64_t bytes, int64_t objects = 1, bool all = true);
  void AddBytes(int64_t bytes);
  void AddObject();
  /// A line that stays, above the live one.
  void Print(const std::string& text);
  /// Calls `print`, which writes lines to standard output: nothing of the live line stands among them.
  void Aside(const std::function<void()>& print);
  int64_t bytes() const;
  double seconds() const;

 private:
  void Show();

  mutable std::mutex mutex_;
  StatusLine line_;
  const bool live_;
  const std::string what_;
  const double start_;
  double shown_ = 0;
  int64_t bytes_ = 0;
  int64_t total_bytes_ = 0;  ///< 0: unknown
  int64_t objects_ = 0;
  int64_t total_objects_ = 1;
  bool total_known_ = false;
};

/// "512 MiB in 1.2 s, 427 MiB/s"
std::string RateText(int64_t bytes, double seconds);

}  // namespace assay::cli
