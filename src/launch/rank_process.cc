#include "launch/rank_process.h"

#include <utility>

#include "base/text.h"

namespace assay::launch {

void Tail::Add(std::string_view line) {
  constexpr size_t kMaxLines = 20;
  constexpr size_t kMaxLineBytes = 1000;
  lines_.emplace_back(line.substr(0, kMaxLineBytes));
  if (lines_.size() > kMaxLines) {
    lines_.pop_front();
  }
}

std::string Tail::Text() const {
  return Join({lines_.begin(), lines_.end()}, "\n");
}

Status RankProcess::Start(SubprocessOptions child, Callbacks callbacks, double clock_start) {
  callbacks_ = std::move(callbacks);
  clock_start_ = clock_start;
  child.on_stdout_line = [this](std::string_view line) { TakeLine(line); };
  child.on_stderr_line = [this](std::string_view line) { tail_.Add(line); };
  child.on_tick = callbacks_.on_tick;
  Result<Subprocess> process = Subprocess::Start(std::move(child));
  if (process.ok()) {
    process_.emplace(std::move(process).value());
  }
  return process.status();
}

Status RankProcess::Wait(double grace_seconds) {
  ASSAY_ASSIGN_OR_RETURN(report_.end, process_->Wait(grace_seconds));
  report_.end_time = report_.end_time > 0 ? report_.end_time : MonotonicSeconds() - clock_start_;
  report_.record.max_rss_bytes = report_.end.max_rss_bytes;
  report_.record.cpu_seconds = report_.end.cpu_seconds;
  report_.record.stderr_tail = tail_.Text();
  return Status::Ok();
}

void RankProcess::TakeLine(std::string_view line) {
  Result<job::Event> event = job::EventFromJsonLine(line);
  if (!event.ok()) {
    tail_.Add(line);
    return;
  }
  if (callbacks_.on_event) {
    callbacks_.on_event(*event);
  }
  const double now = MonotonicSeconds() - clock_start_;
  if (std::holds_alternative<job::Ended>(*event)) {
    report_.end_time = now;
  }
  report_.record.events.push_back(*std::move(event));
  report_.record.event_seconds.push_back(now);
}

}  // namespace assay::launch
