// How long the caller of a rank's collectives has been held up by them.
#pragma once

#include <mutex>

namespace assay::engine {

/// One for all groups of a rank: whoever waits for one group's collective does not compute, whatever the others' do.
/// Times are MonotonicSeconds(). Safe from several threads; calls of enter() and leave() may nest.
class WaitClock {
 public:
  void enter(double now);
  void leave(double now);
  /// Seconds between enter() and leave() up to `now`.
  double waited(double now) const;

 private:
  mutable std::mutex mutex_;
  double total_ = 0;  // protected by mutex_
  double since_ = 0;  // of the outermost enter(); protected by mutex_
  int depth_ = 0;     // protected by mutex_
};

}  // namespace assay::engine
