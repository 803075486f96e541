#include "engine/train/rank_trace.h"

#include <fmt/format.h>

#include <utility>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

class LaneObserver final : public CallObserver {
 public:
  LaneObserver(std::shared_ptr<job::TraceFile> file, std::shared_ptr<const std::atomic<int64_t>> step, int lane)
      : file_(std::move(file)), step_(std::move(step)), lane_(lane) {}

  void on_run(const CallSpan& span) override { add(lane_, span.kind, "collective", span); }
  void on_wait(const CallSpan& span) override {
    add(job::kComputeLane, fmt::format("wait for {}", span.kind), "wait", span);
  }

 private:
  void add(int lane, std::string_view name, std::string_view category, const CallSpan& span) {
    file_->Add({.lane = lane,
                .name = name,
                .category = category,
                .start_seconds = span.start_seconds,
                .end_seconds = span.end_seconds,
                .step = *step_,
                .unit = span.label,
                .bytes = span.bytes});
  }

  std::shared_ptr<job::TraceFile> file_;
  std::shared_ptr<const std::atomic<int64_t>> step_;
  int lane_;
};

}  // namespace

RankTrace::RankTrace(const std::string& directory, int64_t rank)
    : file_(value_or_throw(job::TraceFile::Create(directory, rank))) {}

void RankTrace::add(std::string_view name, std::string_view category, double start_seconds, double end_seconds) {
  file_->Add(
      {.name = name, .category = category, .start_seconds = start_seconds, .end_seconds = end_seconds, .step = *step_});
}

std::shared_ptr<CallObserver> RankTrace::observer_of(std::string_view group) {
  file_->NameLane(++lanes_, fmt::format("communication: {}", group));
  return std::make_shared<LaneObserver>(file_, step_, lanes_);
}

void RankTrace::finish() {
  throw_if_error(file_->Finish());
}

}  // namespace assay::engine
