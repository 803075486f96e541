#include "engine/train/connector_run/connector_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "engine/model/status_error.h"
#include "engine/train/connector_run/connector_data.h"
#include "engine/train/connector_run/connector_steps.h"
#include "engine/train/connector_run/step_processes.h"
#include "engine/train/failure.h"

namespace assay::engine {
namespace {

void remove_below(const std::string& uri) {
  for (const char* name : {"plain", "packed", "run", "again"}) {
    remove_all(open_place(uri + "/" + name + "/"));
  }
}

/// What this process itself writes, which ends before what was written is removed.
class OwnWriting {
 public:
  /// For as long as the lock is held, something is written that `flag` ends. Throws where that has ended it.
  [[nodiscard]] std::unique_lock<std::timed_mutex> begin() {
    std::unique_lock lock(writing_);
    throw_if_error(is_over_ ? Status::Aborted("the test is being ended") : Status::Ok());
    return lock;
  }
  storage::CancelFlag flag() const { return &is_over_; }
  /// From another thread: writes that are under way have a moment.
  void end() {
    constexpr std::chrono::milliseconds kOwnTime(1500);
    is_over_ = true;
    const std::unique_lock<std::timed_mutex> lock(writing_, kOwnTime);
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::timed_mutex writing_;
};

/// What a test has written, and removes also where a failure or a signal ends it.
class Leftovers {
 public:
  /// Below `uri`, and the folder, where it is not empty. Of `writing` and of a step that `processes` makes nothing is
  /// written behind that.
  Leftovers(std::string uri, std::string folder, OwnWriting& writing, StepProcesses& processes,
            TerminationWatcher& termination)
      : uri_(std::move(uri)),
        folder_(std::move(folder)),
        writing_(writing),
        processes_(processes),
        termination_(termination) {
    termination_.set_last_work([this] {
      writing_.end();
      processes_.end();
      remove();
    });
  }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers() {
    if (!are_gone_) {
      const auto lock = termination_.defer();
      processes_.end();
      remove();
    }
    termination_.set_last_work({});
  }
  void are_gone() { are_gone_ = true; }

 private:
  /// As far as it can be: why the test ended is what is told.
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    try {
      remove_below(uri_);
    } catch (const std::exception& error) {
      fmt::print(stderr, "assay-worker: what the connector test wrote below {} stays there: {}\n", uri_, error.what());
    }
  }

  const std::string uri_;
  const std::string folder_;
  OwnWriting& writing_;
  StepProcesses& processes_;
  TerminationWatcher& termination_;
  bool are_gone_ = false;
};

/// How `work`, which is at `where`, ended.
template <typename Work>
job::Ended ended_by(const Work& work, const std::string& where) {
  try {
    return work();
  } catch (const ControllerGone&) {
    throw;
  } catch (const StepEnded& step) {
    return step.ended();
  } catch (const KilledStep& step) {
    // As it: who started this process knows more of what kills one than this does.
    std::raise(step.signal());
    return describe_failure(std::current_exception(), where);
  } catch (const std::exception&) {
    return describe_failure(std::current_exception(), where);
  }
}

class ConnectorRun {
 public:
  ConnectorRun(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination)
      : plan_(plan), termination_(termination), events_(events), processes_(events) {}

  job::Ended execute() {
    return ended_by([this] { return carry_out(); }, where_);
  }

 private:
  job::Ended carry_out() {
    throw_if_error(job::CheckConnectorPlan(plan_));
    if (plan_.work_dir.empty()) {
      temporary_.emplace(value_or_throw(TemporaryDirectory::Create("assay-connector")));
    }
    // What an earlier test left there that was killed.
    remove_written();
    Leftovers leftovers(plan_.uri, temporary_ ? temporary_->path() : "", writing_, processes_, termination_);
    make_steps();
    where_ = "removing what was written";
    remove_written();
    leftovers.are_gone();
    return ended_;
  }

  void make_steps() {
    ConnectorSteps steps(plan_, work_dir(), events_, termination_, writing_.flag());
    write("optimise", [&] { steps.optimise("optimise", "plain", ""); });
    write("optimise_compressed", [&] { steps.optimise("optimise_compressed", "packed", plan_.compression); });
    where_ = "count";
    steps.count("count");
    steps.count("size");
    read("stream");
    read("stream_compressed");
    read("fine_tune");
    // As if the run had been lost before its last checkpoint stood.
    remove_all(open_place(fmt::format("{}/run/step-{}/", plan_.uri, plan_.max_steps)));
    read("resume");
    write("making the local data set", [&] { steps.make_local_data(); });
    read("fine_tune_local");
    read("fine_tune_again");
  }

  template <typename Work>
  void write(const char* where, const Work& work) {
    where_ = where;
    const auto lock = writing_.begin();
    work();
  }

  /// A step that reads a data set, in a process of its own.
  void read(const char* step) {
    where_ = step;
    job::ConnectorPlan plan = plan_;
    plan.work_dir = work_dir();
    plan.step = step;
    job::Ended ended = processes_.make(std::move(plan));
    ended.peak_tensor_bytes = std::max(ended.peak_tensor_bytes, ended_.peak_tensor_bytes);
    ended.peak_reserved_bytes = std::max(ended.peak_reserved_bytes, ended_.peak_reserved_bytes);
    if (ended.kind != job::EndKind::kDone) {
      throw StepEnded(std::move(ended));
    }
    ended_ = std::move(ended);
  }

  std::string work_dir() const { return temporary_ ? temporary_->path() : plan_.work_dir; }

  void remove_written() {
    const auto lock = termination_.defer();
    remove_below(plan_.uri);
  }

  const job::ConnectorPlan& plan_;
  TerminationWatcher& termination_;
  EventWriter& events_;
  OwnWriting writing_;
  StepProcesses processes_;
  std::optional<TemporaryDirectory> temporary_;
  job::Ended ended_;
  std::string where_ = "start";
};

job::Ended make_one_step(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination) {
  const auto make = [&] {
    throw_if_error(job::CheckConnectorPlan(plan));
    return ConnectorSteps(plan, plan.work_dir, events, termination, nullptr).read(plan.step);
  };
  return ended_by(make, plan.step);
}

}  // namespace

job::Ended run_connector_plan(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination) {
  return plan.step.empty() ? ConnectorRun(plan, events, termination).execute()
                           : make_one_step(plan, events, termination);
}

}  // namespace assay::engine
