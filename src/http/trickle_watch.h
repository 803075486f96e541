// A body that comes so slowly that it is as good as stalled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::http {

/// What the transfers of a client have received, and how many there are. Any thread may change it.
struct Received {
  std::atomic<uint64_t> bytes = 0;
  std::atomic<size_t> transfers = 0;
};

/// Holds the bytes of an answer's body against a rate, over one window after the other from the first byte on. Where
/// all transfers together keep to the rate, each may be slower that has its part of what came: many share a slow line.
/// Blanks before anything else are no progress but a sign of life: stores send them while they put an object together
/// (CompleteMultipartUpload), and they may go on for longer.
class TrickleWatch {
 public:
  /// A window of 0 seconds: everything is fast enough.
  /// `all` counts what is taken here too, before it is taken. Not owned.
  TrickleWatch(double window_seconds, double bytes_per_s, const Received& all)
      : window_seconds_(window_seconds), bytes_per_s_(bytes_per_s), all_(all) {}

  void Begin();
  /// `chunk` came at `now`, in seconds. False: too little has come in the window that ends now.
  bool Take(std::span<const std::byte> chunk, double now);

 private:
  void BeginWindow(double now);
  bool IsFast(double seconds) const;

  const double window_seconds_;
  const double bytes_per_s_;
  const Received& all_;
  double first_at_ = 0;  ///< 0: no byte yet
  double window_at_ = 0;
  size_t window_bytes_ = 0;
  uint64_t all_at_window_ = 0;
  bool blank_ = true;  ///< nothing but blanks so far
};

}  // namespace assay::http
