#include "launch/local_launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "job/lifeline.h"
#include "job/trace_file.h"
#include "launch/classify.h"
#include "launch/oom_count.h"
#include "launch/rank_group.h"
#include "launch/rank_variables.h"
#include "launch/run_directory.h"
#include "measure/machine.h"
#include "measure/standstill.h"

namespace assay::launch {
namespace {

std::map<std::string, std::string> WorkerEnvironment(const job::Plan& plan, const LaunchOptions& options) {
  // Threads that spin while they wait take the cores from whoever shares the machine, and from the sampler.
  std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"},
                                                    {std::string(job::kLifelineVariable), "1"}};
  const auto ranks = static_cast<int>(job::TrainingOf(plan).number_ranks);
  const int64_t said = job::TrainingOf(plan).threads;
  const int64_t threads = said > 0 || ranks == 1 ? said : ThreadsPerRank(ranks);
  if (threads > 0) {
    environment["OMP_NUM_THREADS"] = std::to_string(threads);
    environment["MKL_NUM_THREADS"] = std::to_string(threads);
  }
  for (const auto& [name, value] : options.environment) {
    environment[name] = value;
  }
  return environment;
}

/// One run: what is set up before the workers start, and what is gathered until they end.
class Run {
 public:
  Run(const job::Plan& plan, const LaunchOptions& options)
      : plan_(plan), options_(options), sampler_(SamplingOf(plan, options)) {}

  Result<job::RunRecord> Execute(const std::string& worker) {
    const double start = MonotonicSeconds();
    ASSAY_ASSIGN_OR_RETURN(const RunDirectory directory, RunDirectory::Create());
    const std::string plan_file = directory.path() + "/plan.json";
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(plan_file, DumpJsonPretty(job::ToJson(plan_))));
    const int64_t kills_before = OutOfMemoryKills();
    const measure::MemoryRoom room = measure::FindMemoryRoom();
    const double suspended_before = measure::SuspendedSeconds();
    ASSAY_RETURN_IF_ERROR(Start(worker, plan_file));
    ASSAY_RETURN_IF_ERROR(ranks_.Wait({options_.own_end_seconds, options_.grace_seconds}));
    job::RunRecord record = Gather({.killer_struck = OutOfMemoryKills() > kills_before,
                                    .free_bytes = room.free_bytes,
                                    .total_bytes = room.total_bytes});
    const measure::SampleSeries series = sampler_.Stop();
    record.samples = measure::ToColumns(series);
    record.stood_still_seconds = StoodStillSeconds(series, suspended_before);
    record.cpu_wait_seconds = series.cpu_wait_seconds;
    record.wall_seconds = MonotonicSeconds() - start;
    record.overhead_seconds = record.wall_seconds - WorkSeconds(record);
    MergeTrace(record);
    return record;
  }

 private:
  static measure::SamplerOptions SamplingOf(const job::Plan& plan, const LaunchOptions& options) {
    const auto nvml = job::TrainingOf(plan).device == "cpu" ? nullptr : measure::Nvml::Load();
    return {.hz = options.sample_hz,
            .nvml = nvml,
            .gpus = nvml == nullptr ? std::vector<int>() : GpusOf(plan, nvml->gpus())};
  }

  static double StoodStillSeconds(const measure::SampleSeries& series, double suspended_before) {
    measure::Standstill standstill;
    standstill.AddSuspended(measure::SuspendedSeconds() - suspended_before);
    return series.stood_still_seconds + standstill.seconds();
  }

  Status Start(const std::string& worker, const std::string& plan_file) {
    const auto ranks = static_cast<int>(job::TrainingOf(plan_).number_ranks);
    const auto nodes = static_cast<int>(job::TrainingOf(plan_).number_nodes);
    MeetingPlace place;
    if (ranks > 1) {
      ASSAY_ASSIGN_OR_RETURN(place, ChooseMeetingPlace());
    }
    const auto child_of = [&](int rank) {
      SubprocessOptions child;
      child.argv = {worker, "--plan", plan_file};
      child.environment = WorkerEnvironment(plan_, options_);
      child.lifeline = true;
      if (ranks > 1) {
        child.environment.merge(RankVariables(place, rank, ranks, nodes));
      }
      return child;
    };
    RankProcess::Callbacks callbacks;
    callbacks.on_event = options_.on_event;
    callbacks.on_tick = [this] {
      if (options_.cancelled && options_.cancelled()) {
        ranks_.Kill(SIGKILL);
      }
      if (options_.on_tick) {
        options_.on_tick(sampler_.Latest());
      }
    };
    ASSAY_RETURN_IF_ERROR(ranks_.Start(ranks, child_of, std::move(callbacks), MonotonicSeconds()));
    sampler_.Start(ranks_.pids());
    return Status::Ok();
  }

  /// Rank 0's record, with the end of the rank that failed first.
  job::RunRecord Gather(MemoryEvidence memory) {
    job::RunRecord record = std::move(ranks_.rank(0).record());
    memory.peak_bytes = record.max_rss_bytes;
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      memory.peak_bytes += ranks_.rank(rank).record().max_rss_bytes;
      record.max_rss_bytes = std::max(record.max_rss_bytes, ranks_.rank(rank).record().max_rss_bytes);
      record.cpu_seconds += ranks_.rank(rank).record().cpu_seconds;
    }
    const int failed = std::max(ranks_.FirstToFail(), 0);
    if (failed > 0) {
      TakeLastWords(ranks_.rank(failed).record(), record);
    }
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      TakeRankEvents(ranks_.rank(rank).record(), record);
    }
    Classify({ranks_.rank(failed).end(), InterruptRequested(), memory}, record);
    // A worker names its rank itself; a rank that was killed cannot.
    if (ranks_.size() > 1 && !record.reason.empty() && !record.reason.starts_with("rank ")) {
      record.reason = fmt::format("rank {}: {}", failed, record.reason);
    }
    return record;
  }

  /// A run without the trace that its plan asks for has failed.
  void MergeTrace(job::RunRecord& record) const {
    const job::TrainingPlan& plan = job::TrainingOf(plan_);
    if (plan.trace_dir.empty() || record.end != job::RunEnd::kDone) {
      return;
    }
    if (const auto merged = job::MergeTraces(plan.trace_dir, plan.number_ranks); !merged.ok()) {
      record.end = job::RunEnd::kError;
      record.reason = merged.status().message();
    }
  }

  /// How far the run had come is in rank 0's events; why it ended, in those of the rank that failed.
  static void TakeLastWords(const job::RunRecord& failed, job::RunRecord& record) {
    record.stderr_tail = failed.stderr_tail;
    if (!record.events.empty() && std::holds_alternative<job::Ended>(record.events.back())) {
      record.events.pop_back();
      record.event_seconds.pop_back();
    }
    if (const auto* ended = job::FindEvent<job::Ended>(failed)) {
      record.events.emplace_back(*ended);
      record.event_seconds.push_back(failed.event_seconds.back());
    }
  }

  /// What another rank says of itself alone: events that name it.
  static void TakeRankEvents(const job::RunRecord& rank, job::RunRecord& record) {
    for (size_t i = 0; i < rank.events.size(); ++i) {
      const job::Event& event = rank.events[i];
      if (std::holds_alternative<job::RankStep>(event) || std::holds_alternative<job::MemoryLedger>(event) ||
          std::holds_alternative<job::CollectiveTotals>(event)) {
        record.events.push_back(event);
        record.event_seconds.push_back(rank.event_seconds[i]);
      }
    }
  }

  /// Loading and training, as the worker timed them.
  static double WorkSeconds(const job::RunRecord& record) {
    const auto* loaded = job::FindEvent<job::Loaded>(record);
    const auto* ended = job::FindEvent<job::Ended>(record);
    return (loaded == nullptr ? 0 : loaded->seconds) + (ended == nullptr ? 0 : ended->train_runtime);
  }

  const job::Plan& plan_;
  const LaunchOptions& options_;
  measure::Sampler sampler_;
  RankGroup ranks_;
};

}  // namespace

std::vector<int> GpusOf(const job::Plan& plan, const std::vector<measure::GpuInfo>& gpus) {
  std::vector<int> visible = measure::VisibleGpus(gpus);
  visible.resize(std::min(visible.size(), static_cast<size_t>(job::TrainingOf(plan).number_ranks)));
  return visible;
}

Result<std::string> FindWorker() {
  const char* named = std::getenv("ASSAY_WORKER");
  const std::string own = ExecutablePath();
  const std::string path =
      named != nullptr && *named != '\0' ? named : own.substr(0, own.rfind('/') + 1) + "assay-worker";
  if (access(path.c_str(), X_OK) == 0 && !IsDirectory(path)) {
    return path;
  }
  return Status::NotFound(
      fmt::format("cannot start a worker: {} is {} (build or install assay-worker beside assay, or name it with "
                  "ASSAY_WORKER)",
                  path, FileExists(path) || IsDirectory(path) ? "no program that may be run" : "not there"));
}

Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options) {
  ASSAY_RETURN_IF_ERROR(job::CheckRanksFit(plan));
  std::string worker = options.worker;
  if (worker.empty()) {
    ASSAY_ASSIGN_OR_RETURN(worker, FindWorker());
  }
  return Run(plan, options).Execute(worker);
}

Status EndStatus(const job::RunRecord& record) {
  switch (record.end) {
    case job::RunEnd::kDone:
      return Status::Ok();
    case job::RunEnd::kOutOfMemory:
      return Status::OutOfMemory(record.reason);
    case job::RunEnd::kInvalid:
      return Status::InvalidArgument(record.reason);
    case job::RunEnd::kInterrupted:
      return Status::Aborted(record.reason);
    case job::RunEnd::kDiverged:
    case job::RunEnd::kError:
    case job::RunEnd::kKilled:
    case job::RunEnd::kVanished:
      return Status::Internal(record.reason);
  }
  return Status::Internal(record.reason);
}

}  // namespace assay::launch
