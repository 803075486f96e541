#include "launch/classify.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text.h"

namespace assay::launch {
namespace {

std::string LastLine(const std::string& text) {
  const std::string_view trimmed = Trim(text);
  const size_t newline = trimmed.rfind('\n');
  return std::string(newline == std::string_view::npos ? trimmed : trimmed.substr(newline + 1));
}

/// "after step 12", "while it loaded", "before it said anything".
std::string Progress(const job::RunRecord& record) {
  for (auto event = record.events.rbegin(); event != record.events.rend(); ++event) {
    if (const auto* step = std::get_if<job::Step>(&*event)) {
      return fmt::format("after step {}", step->step);
    }
    if (std::holds_alternative<job::Loaded>(*event)) {
      return "before its first step ended";
    }
    if (std::holds_alternative<job::Started>(*event)) {
      return "while it loaded";
    }
  }
  return "before it said anything";
}

void Set(job::RunRecord& record, job::RunEnd end, std::string reason) {
  record.end = end;
  record.reason = std::move(reason);
}

void ClassifyEnded(const job::Ended& ended, const ProcessEnd& process, job::RunRecord& record) {
  switch (ended.kind) {
    case job::EndKind::kDone:
      if (process.exited && process.exit_code == 0) {
        return Set(record, job::RunEnd::kDone, "");
      }
      return Set(record, job::RunEnd::kError,
                 fmt::format("the worker had finished its plan, but then ended with {}", process.Describe()));
    case job::EndKind::kOutOfMemory:
      return Set(record, job::RunEnd::kOutOfMemory, ended.reason);
    case job::EndKind::kInvalid:
      return Set(record, job::RunEnd::kInvalid, ended.reason);
    case job::EndKind::kDiverged:
      return Set(record, job::RunEnd::kDiverged, ended.reason);
    case job::EndKind::kError:
      return Set(record, job::RunEnd::kError, ended.reason);
  }
}

std::string Bytes(int64_t bytes) {
  return FormatBytes(static_cast<double>(bytes));
}

void ClassifySignal(const EndFacts& facts, job::RunRecord& record) {
  record.signal = facts.process.signal;
  const bool by_killer = facts.process.signal == SIGKILL && facts.memory.killer_struck;
  if (by_killer && !facts.memory.IsThisRuns()) {
    return Set(record, job::RunEnd::kKilled,
               fmt::format("the kernel's out-of-memory killer ended the worker {}, but this run held at most {} of the "
                           "{} that were free when it began, of {}: others used the memory (run it again)",
                           Progress(record), Bytes(facts.memory.peak_bytes), Bytes(facts.memory.free_bytes),
                           Bytes(facts.memory.total_bytes)));
  }
  if (by_killer) {
    return Set(record, job::RunEnd::kOutOfMemory,
               fmt::format("out of memory: the kernel's out-of-memory killer ended the worker {} (use "
                           "smaller batches, or a machine with more memory)",
                           Progress(record)));
  }
  Set(record, job::RunEnd::kKilled,
      fmt::format("the worker was {} {} (somebody ended it, or it crashed: run it again)", facts.process.Describe(),
                  Progress(record)));
}

void ClassifyVanished(const ProcessEnd& process, job::RunRecord& record) {
  const std::string last = LastLine(record.stderr_tail);
  Set(record, job::RunEnd::kVanished,
      fmt::format("the worker ended with {} {}, without saying why{}", process.Describe(), Progress(record),
                  last.empty() ? "" : ": " + last));
}

}  // namespace

void Classify(const EndFacts& facts, job::RunRecord& record) {
  const auto* ended = job::FindEvent<job::Ended>(record);
  const bool done = ended != nullptr && ended->kind == job::EndKind::kDone;
  if (facts.interrupted && !done) {
    return Set(record, job::RunEnd::kInterrupted, fmt::format("interrupted {}", Progress(record)));
  }
  if (ended != nullptr) {
    return ClassifyEnded(*ended, facts.process, record);
  }
  if (!facts.lost.empty()) {
    return Set(record, job::RunEnd::kLost, fmt::format("{} ({})", facts.lost, Progress(record)));
  }
  if (!facts.process.exited) {
    return ClassifySignal(facts, record);
  }
  ClassifyVanished(facts.process, record);
}

}  // namespace assay::launch
