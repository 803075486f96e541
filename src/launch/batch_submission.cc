#include "launch/batch_submission.h"

#include <fmt/format.h>

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
constexpr int kMostEnded = 3;        // files of a shared folder may come later than the end of their job
constexpr int kMostRefused = 60;     // a registry that does not answer now is asked again by machines
constexpr int kMostUnanswered = 60;  // of an agent that says nothing either

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
    if (const double now = MonotonicSeconds(); !ended_ && now - looked_at >= look_seconds_) {
      looked_at = now;
      LookAtJob();
    }
  }
  return reports().refused();
}

void BatchSubmission::Cancel() {
  if (!job_.empty()) {
    queue_.Cancel(job_);
  }
}

void BatchSubmission::ReadLines() {
  lines_.Read([this](std::string_view line) {
    if (reports().Take(line)) {
      looks_unanswered_ = 0;  // a run goes on while its queue is away, as a control plane is that is upgraded
    }
  });
  ended_ = ended_ || reports().all_ended();
}

Status BatchSubmission::SayAlive() {
  return WriteFileAtomically(folder_ + "/" + kAliveFile, UtcTimestamp() + "\n");
}

Result<BatchState> BatchSubmission::Look() {
  ASSAY_RETURN_IF_ERROR(SayAlive());
  return queue_.Look(job_);
}

void BatchSubmission::LookAtJob() {
  const Result<BatchState> state = Look();
  looks_unanswered_ = state.ok() ? 0 : looks_unanswered_ + 1;
  if (!state.ok()) {
    if (looks_unanswered_ >= kMostUnanswered) {
      LoseAll(
          fmt::format("nobody says any more what becomes of {}: {}", queue_.Describe(job_), state.status().message()));
      ended_ = true;
      Cancel();
    }
    return;
  }
  looks_refused_ = state->phase == BatchState::Phase::kRefused ? looks_refused_ + 1 : 0;
  looks_ended_ = state->phase == BatchState::Phase::kEnded ? looks_ended_ + 1 : 0;
  switch (state->phase) {
    case BatchState::Phase::kRunning:
      break;
    case BatchState::Phase::kWaiting:
      waiting_.Waits(queue_.Describe(job_), state->why);
      break;
    case BatchState::Phase::kEnded:
      TakeEnd(*state);
      break;
    case BatchState::Phase::kNever:
      NeverStarts(fmt::format("{} will never start: {}", queue_.Describe(job_), state->why));
      ended_ = true;
      Cancel();
      break;
    case BatchState::Phase::kRefused:
      if (looks_refused_ <= kMostRefused) {
        waiting_.Waits(queue_.Describe(job_), state->why);
        break;
      }
      reports().Refuse(fmt::format("{} cannot start: {}", queue_.Describe(job_), state->why));
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
