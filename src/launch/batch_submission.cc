#include "launch/batch_submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"

namespace assay::launch {
namespace {

constexpr char kAliveFile[] = "alive";
// Of looks, one a second.
constexpr int kMostEnded = 3;     // files of a shared folder may come later than the end of their job
constexpr int kMostRefused = 60;  // a registry that does not answer now is asked again by machines

// Of silence, where no agent says anything either.
constexpr double kMostSeconds = 60;
constexpr double kMostSecondsOnceCancelled = 20;  // time for agents to end their ranks and tell it
constexpr double kSecondsUntold = 10;             // a short absence is nobody's concern

}  // namespace

void WaitTeller::Waits(const std::string& job, const std::string& why) {
  constexpr double kPatienceSeconds = 10;
  if (MonotonicSeconds() - start_ >= kPatienceSeconds && !why.empty() && why != told_) {
    told_ = why;
    fmt::print(stderr, "assay: {} waits: {}\n", job, why);
  }
}

BatchSubmission::BatchSubmission(const job::Plan& plan, const LaunchOptions& options, BatchQueue& queue,
                                 std::string folder, double look_seconds)
    : AgentSubmission(plan, options, static_cast<int>(job::TrainingOf(plan).number_nodes)),
      queue_(queue),
      folder_(std::move(folder)),
      look_seconds_(look_seconds),
      lines_(folder_ + "/lines") {}

BatchSubmission::~BatchSubmission() {
  if (!ended_) {
    BatchSubmission::Cancel();
  } else if (!job_.empty()) {
    queue_.Forget(job_);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Status BatchSubmission::Start(const std::string& agent) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(lines_.path()));
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(folder_ + "/plan.json", DumpJsonPretty(job::ToJson(plan()))));
  ASSAY_RETURN_IF_ERROR(SayAlive());
  ASSAY_ASSIGN_OR_RETURN(job_,
                         queue_.Enqueue({.plan = plan(), .options = options(), .folder = folder_, .agent = agent}));
  return Status::Ok();
}

Status BatchSubmission::Follow() {
  double looked_at = 0;
  while (!ended_) {
    std::this_thread::sleep_for(std::chrono::duration<double>(look_seconds_ / 10));
    ReadLines();
    Tick(InterruptRequested());
    if (const auto look = look_.Take(); look && !ended_) {
      TakeLook(*look);
    }
    if (const double now = MonotonicSeconds(); !ended_ && now - looked_at >= look_seconds_) {
      looked_at = now;
      Beat();
    }
  }
  return reports().refused();
}

void BatchSubmission::Cancel() {
  cancelled_ = true;
  static_cast<void>(SayAlive());
  if (!job_.empty()) {
    queue_.Cancel(job_);
  }
}

void BatchSubmission::ReadLines() {
  lines_.Read([this](std::string_view line) {
    if (reports().Take(line)) {
      Heard();  // a run goes on while its queue is away, as a control plane is that is upgraded
    }
  });
  ended_ = ended_ || reports().all_ended();
}

void BatchSubmission::Heard() {
  seconds_unanswered_ = 0;
  heard_at_ = MonotonicSeconds();
}

Status BatchSubmission::SayAlive() {
  return WriteFileAtomically(folder_ + "/" + kAliveFile, cancelled_ ? "" : UtcTimestamp() + "\n");
}

void BatchSubmission::Beat() {
  if (const Status said = SayAlive(); !said.ok()) {
    Unanswered(said, 1);
  } else {
    look_.Begin(queue_, job_);
  }
}

void BatchSubmission::TakeLook(const BatchLook::Answer& look) {
  if (look.state.ok()) {
    Heard();
    told_unanswered_ = false;
    TakeState(*look.state);
  } else {
    // Of a look that took long only what came after an agent's last word.
    Unanswered(look.state.status(), std::max(1.0, std::min(look.seconds, MonotonicSeconds() - heard_at_)));
  }
}

void BatchSubmission::Unanswered(const Status& why, double seconds) {
  seconds_unanswered_ += seconds;
  if (seconds_unanswered_ >= kSecondsUntold && !std::exchange(told_unanswered_, true)) {
    fmt::print(stderr, "assay: nobody says what becomes of {}; it is asked again: {}\n", queue_.Describe(job_),
               why.message());
  }
  const double most = cancelled_ ? kMostSecondsOnceCancelled : kMostSeconds;
  if (seconds_unanswered_ >= most) {
    ReadLines();  // what agents said while something here waited
  }
  if (!ended_ && seconds_unanswered_ >= most) {
    LoseAll(fmt::format("nobody says any more what becomes of {}: {}", queue_.Describe(job_), why.message()));
    ended_ = true;
    Cancel();
  }
}

void BatchSubmission::TakeState(const BatchState& state) {
  looks_refused_ = state.phase == BatchState::Phase::kRefused ? looks_refused_ + 1 : 0;
  looks_ended_ = state.phase == BatchState::Phase::kEnded ? looks_ended_ + 1 : 0;
  switch (state.phase) {
    case BatchState::Phase::kRunning:
      break;
    case BatchState::Phase::kWaiting:
      if (cancelled_) {
        queue_.Cancel(job_);  // which it did not take, and of a job that waits there is no agent to tell
      }
      waiting_.Waits(queue_.Describe(job_), state.why);
      break;
    case BatchState::Phase::kEnded:
      TakeEnd(state);
      break;
    case BatchState::Phase::kNever:
      NeverStarts(fmt::format("{} will never start: {}", queue_.Describe(job_), state.why));
      ended_ = true;
      Cancel();
      break;
    case BatchState::Phase::kRefused:
      if (looks_refused_ <= kMostRefused) {
        waiting_.Waits(queue_.Describe(job_), state.why);
        break;
      }
      reports().Refuse(fmt::format("{} cannot start: {}", queue_.Describe(job_), state.why));
      ended_ = true;
      Cancel();
      break;
  }
}

void BatchSubmission::TakeEnd(const BatchState& state) {
  if (looks_ended_ > kMostEnded) {
    ReadLines();
    LoseAll(fmt::format("{} ended as {}: {}", queue_.Describe(job_), state.why, LastWords()));
    if (state.out_of_memory) {
      OutOfMemory(fmt::format("out of memory: {} ended as {} (use smaller batches, or ask for more memory)",
                              queue_.Describe(job_), state.why));
    }
    ended_ = true;
  }
}

std::string BatchSubmission::LastWords() const {
  const Result<std::string> log = ReadFile(folder_ + "/job.log");
  const std::vector<std::string> lines = log.ok() ? Split(Trim(*log), '\n') : std::vector<std::string>();
  return lines.empty() ? "it said nothing" : OneLine(lines.back());
}

}  // namespace assay::launch
