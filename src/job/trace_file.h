// What each rank did when, in Chrome's trace format (chrome://tracing, ui.perfetto.dev): a file a rank, then one of
// all.
//
// The process of a span is its rank, its thread the lane. Times are those of CLOCK_MONOTONIC, which all processes of
// one machine share, in microseconds. Each rank's file says how far CLOCK_REALTIME was ahead of it
// (realtime_offset_us): files of several machines are put on one clock by adding the differences of these offsets.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/status.h"

namespace assay::job {

/// Steps, their phases, and waiting for communication within them. Other lanes: the collectives of one group each, as
/// they run. Spans of one lane nest or follow each other.
inline constexpr int kComputeLane = 0;

struct TraceSpan {
  int lane = kComputeLane;
  std::string_view name;      ///< "forward", "all_reduce"
  std::string_view category;  ///< step | phase | wait | collective
  double start_seconds = 0;   ///< MonotonicSeconds()
  double end_seconds = 0;
  int64_t step = 0;            ///< from 1; 0: none
  std::string_view unit = {};  ///< what a collective is of: "blocks.3 gradients"
  int64_t bytes = -1;          ///< of a collective's full buffer; -1: none
};

/// The trace of one rank, written as it comes: memory does not grow with it. Safe from several threads.
class TraceFile {
 public:
  /// Of rank `rank`: `directory`/trace-RANK.json, which is there only once Finish() succeeded.
  static Result<std::unique_ptr<TraceFile>> Create(const std::string& directory, int64_t rank);

  /// What cannot be written is Finish()'s error. Nothing is added after Finish().
  void NameLane(int lane, std::string_view name);
  void Add(const TraceSpan& span);
  Status Finish();

 private:
  TraceFile(AtomicFile file, int64_t rank) : rank_(rank), file_(std::move(file)) {}
  void Append(std::string_view event);

  const int64_t rank_;
  std::mutex mutex_;
  AtomicFile file_;        // protected by mutex_
  std::string buffer_;     // protected by mutex_
  Status status_;          // protected by mutex_
  bool finished_ = false;  // protected by mutex_
};

/// `directory`/trace-RANK.json
std::string TracePath(const std::string& directory, int64_t rank);

/// Puts the files of ranks 0 to `ranks` - 1 into `directory`/trace.json, event by event, and removes them; returns its
/// path. The file is there whole or not at all. kNotFound when a rank has left no file.
Result<std::string> MergeTraces(const std::string& directory, int64_t ranks);

}  // namespace assay::job
