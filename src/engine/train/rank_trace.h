// What this rank does when, written as a trace: phases of its steps, and the collectives of its groups.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/comm/call_observer.h"
#include "job/trace_file.h"

namespace assay::engine {

/// Phases come from one thread, collectives from any.
class RankTrace {
 public:
  /// Throws StatusError when the file cannot be made.
  RankTrace(const std::string& directory, int64_t rank);

  /// The step that further spans belong to; 0: none.
  void set_step(int64_t step) { *step_ = step; }
  /// A phase, or a whole step, of category "phase" or "step".
  void add(std::string_view name, std::string_view category, double start_seconds, double end_seconds);
  /// Writes the collectives of group `group` on a lane of their own; may outlive this.
  std::shared_ptr<CallObserver> observer_of(std::string_view group);
  /// Nothing is written afterwards. Throws StatusError when something could not be written.
  void finish();

 private:
  std::shared_ptr<job::TraceFile> file_;
  std::shared_ptr<std::atomic<int64_t>> step_ = std::make_shared<std::atomic<int64_t>>(0);
  int lanes_ = job::kComputeLane;
};

}  // namespace assay::engine
