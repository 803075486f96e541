#include "engine/train/connector_run/step_processes.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/model/status_error.h"
#include "job/lifeline.h"
#include "job/plan.h"

namespace assay::engine {
namespace {

/// That a process may take to end by itself: what it writes stands then, or is not going to.
constexpr std::chrono::milliseconds kOwnTime(1500);
/// That a killed one may take to be gone.
constexpr std::chrono::milliseconds kLastTime(500);

}  // namespace

job::Ended StepProcesses::make(job::ConnectorPlan plan) {
  const std::string path = plan.work_dir + "/" + plan.step + ".json";
  plan.step_began_seconds = MonotonicSeconds();
  throw_if_error(WriteFileAtomically(path, DumpJson(job::ToJson(plan))));
  std::optional<job::Ended> ended;
  SubprocessOptions options;
  options.argv = {ExecutablePath(), "--plan", path};
  options.environment = {{job::kLifelineVariable, "1"}};
  options.lifeline = true;
  options.on_stdout_line = [&](std::string_view line) {
    const job::Event event = value_or_throw(job::EventFromJsonLine(line));
    if (const auto* last = std::get_if<job::Ended>(&event)) {
      ended = *last;
    } else {
      events_.write(event);
    }
  };
  options.on_stderr_line = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  start(std::move(options));
  const ProcessEnd end = wait();
  if (!ended && !end.exited) {
    throw KilledStep(plan.step, end);
  }
  if (!ended) {
    throw_if_error(Status::Internal(
        fmt::format("the process of step {} ended with {} without saying why", plan.step, end.Describe())));
  }
  return *ended;
}

void StepProcesses::start(SubprocessOptions options) {
  const std::lock_guard lock(mutex_);
  if (is_over_) {
    throw_if_error(Status::Aborted("the test is being ended"));
  }
  process_.emplace(value_or_throw(Subprocess::Start(std::move(options))));
}

ProcessEnd StepProcesses::wait() {
  struct Forgetting {
    StepProcesses& of;
    ~Forgetting() {
      const std::lock_guard lock(of.mutex_);
      of.process_.reset();
      of.is_gone_.notify_all();
    }
  };
  const Forgetting forgetting{*this};
  return value_or_throw(process_->Wait());
}

void StepProcesses::end() {
  std::unique_lock lock(mutex_);
  is_over_ = true;
  if (process_) {
    const auto is_gone = [this] { return !process_; };
    process_->Kill(SIGTERM);
    if (!is_gone_.wait_for(lock, kOwnTime, is_gone)) {
      process_->Kill(SIGKILL);
      is_gone_.wait_for(lock, kLastTime, is_gone);
    }
  }
}

}  // namespace assay::engine
