#include "job/trace_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace assay::job {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr char kOpening[] = "[\n";
constexpr char kSeparator[] = ",\n";
constexpr char kClosing[] = "\n]\n";

double Seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// An event that names something in the viewer.
std::string NameEvent(std::string_view kind, int64_t rank, int lane, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})", kind, rank, lane, name);
}

std::string SpanEvent(const TraceSpan& span, int64_t rank) {
  nlohmann::json args = nlohmann::json::object();
  if (span.step > 0) {
    args["step"] = span.step;
  }
  if (!span.unit.empty()) {
    args["unit"] = span.unit;
  }
  if (span.bytes >= 0) {
    args["bytes"] = span.bytes;
  }
  constexpr double kMicro = 1e6;
  return fmt::format(R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{}}})",
                     span.name, span.category, rank, span.lane, span.start_seconds * kMicro,
                     (span.end_seconds - span.start_seconds) * kMicro, DumpJson(args));
}

/// Copies the events of one rank's file, which stand one a line.
Status CopyEvents(const std::string& path, bool first, AtomicFile& merged) {
  std::ifstream file(path);
  if (!file) {
    return Status::NotFound(
        fmt::format("cannot merge the trace: there is no {} (the rank did not end by itself)", path));
  }
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line) && line != "]") {
    if (line.ends_with(',')) {
      line.pop_back();
    }
    ASSAY_RETURN_IF_ERROR(merged.Write((std::exchange(first, false) ? "" : kSeparator) + line));
  }
  return Status::Ok();
}

}  // namespace

std::string TracePath(const std::string& directory, int64_t rank) {
  return fmt::format("{}/trace-{}.json", directory, rank);
}

Result<std::unique_ptr<TraceFile>> TraceFile::Create(const std::string& directory, int64_t rank) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(directory));
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(TracePath(directory, rank)));
  std::unique_ptr<TraceFile> trace(new TraceFile(std::move(file), rank));
  const double offset = Seconds(CLOCK_REALTIME) - Seconds(CLOCK_MONOTONIC);
  trace->buffer_ = kOpening + NameEvent("process_name", rank, 0, fmt::format("rank {}", rank));
  trace->Append(NameEvent("thread_name", rank, kComputeLane, "compute"));
  trace->Append(fmt::format(
      R"({{"ph":"M","name":"clock","pid":{},"tid":0,"args":{{"clock":"CLOCK_MONOTONIC","realtime_offset_us":{:.0f}}}}})",
      rank, offset * 1e6));
  return trace;
}

void TraceFile::NameLane(int lane, std::string_view name) {
  const std::lock_guard lock(mutex_);
  Append(NameEvent("thread_name", rank_, lane, name));
}

void TraceFile::Add(const TraceSpan& span) {
  const std::string event = SpanEvent(span, rank_);
  const std::lock_guard lock(mutex_);
  Append(event);
}

void TraceFile::Append(std::string_view event) {
  if (finished_) {
    return;
  }
  buffer_ += kSeparator;
  buffer_ += event;
  if (buffer_.size() >= kBufferBytes) {
    status_ = status_.ok() ? file_.Write(buffer_) : status_;
    buffer_.clear();
  }
}

Status TraceFile::Finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  ASSAY_RETURN_IF_ERROR(status_);
  ASSAY_RETURN_IF_ERROR(file_.Write(buffer_ + kClosing));
  buffer_.clear();
  return file_.Commit();
}

Result<std::string> MergeTraces(const std::string& directory, int64_t ranks) {
  const std::string path = directory + "/trace.json";
  ASSAY_ASSIGN_OR_RETURN(AtomicFile merged, AtomicFile::Create(path));
  ASSAY_RETURN_IF_ERROR(merged.Write(std::string(R"({"displayTimeUnit":"ms","traceEvents":)") + kOpening));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    ASSAY_RETURN_IF_ERROR(CopyEvents(TracePath(directory, rank), rank == 0, merged));
  }
  ASSAY_RETURN_IF_ERROR(merged.Write(std::string(kClosing) + "}\n"));
  ASSAY_RETURN_IF_ERROR(merged.Commit());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::remove(TracePath(directory, rank).c_str());
  }
  return path;
}

}  // namespace assay::job
