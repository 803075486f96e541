#include "launch/node_run.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "job/lifeline.h"
#include "launch/oom_count.h"
#include "launch/rank_variables.h"
#include "measure/machine.h"

namespace assay::launch {
namespace {

std::map<std::string, std::string> WorkerEnvironment(const job::Plan& plan, const NodeShare& share,
                                                     const LaunchOptions& options) {
  // Threads that spin while they wait take the cores from whoever shares the machine, and from the sampler.
  std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"},
                                                    {std::string(job::kLifelineVariable), "1"}};
  const int64_t ranks = job::TrainingOf(plan).number_ranks;
  const int64_t said = job::TrainingOf(plan).threads;
  const int64_t threads = said > 0 || ranks == 1 ? said : ThreadsPerRank(std::max(share.ranks, share.ranks_of_machine));
  if (threads > 0) {
    environment["OMP_NUM_THREADS"] = std::to_string(threads);
    environment["MKL_NUM_THREADS"] = std::to_string(threads);
  }
  for (const auto& [name, value] : options.environment) {
    environment[name] = value;
  }
  return environment;
}

measure::SamplerOptions SamplingOf(const job::Plan& plan, const NodeShare& share, const LaunchOptions& options) {
  const auto nvml = job::TrainingOf(plan).device == "cpu" ? nullptr : measure::Nvml::Load();
  return {.hz = options.sample_hz,
          .nvml = nvml,
          .gpus = nvml == nullptr ? std::vector<int>() : GpusOf(share.first_local_rank, share.ranks, nvml->gpus())};
}

}  // namespace

std::vector<int> GpusOf(int first_local_rank, int ranks, const std::vector<measure::GpuInfo>& gpus) {
  const std::vector<int> visible = measure::VisibleGpus(gpus);
  const auto begin = std::min(visible.size(), static_cast<size_t>(first_local_rank));
  const auto end = std::min(visible.size(), begin + static_cast<size_t>(ranks));
  return {visible.begin() + static_cast<ptrdiff_t>(begin), visible.begin() + static_cast<ptrdiff_t>(end)};
}

NodeRun::NodeRun(const job::Plan& plan, NodeShare share, const LaunchOptions& options)
    : plan_(plan), share_(std::move(share)), options_(options), sampler_(SamplingOf(plan, share_, options)) {}

Status NodeRun::Start(const std::string& worker, const std::string& plan_file) {
  kills_before_ = OutOfMemoryKills();
  const measure::MemoryRoom room = measure::FindMemoryRoom();
  memory_ = {.free_bytes = room.free_bytes, .total_bytes = room.total_bytes};
  suspended_before_ = measure::SuspendedSeconds();
  const auto child_of = [&](int local_rank) {
    SubprocessOptions child;
    child.argv = {worker, "--plan", plan_file};
    child.environment = WorkerEnvironment(plan_, share_, options_);
    child.lifeline = true;
    if (share_.rank_variables) {
      child.environment.merge(share_.rank_variables(share_.first_rank + local_rank));
    }
    return child;
  };
  RankProcess::Callbacks callbacks;
  callbacks.on_event = options_.on_event;
  callbacks.on_tick = [this] {
    if (options_.cancelled && options_.cancelled()) {
      Kill(SIGKILL);
    }
    if (options_.on_tick) {
      options_.on_tick(sampler_.Latest());
    }
  };
  const double begin = MonotonicSeconds();
  const double waited_before = measure::ThreadWaitSeconds();
  ASSAY_RETURN_IF_ERROR(ranks_.Start(share_.ranks, child_of, std::move(callbacks), begin));
  sampler_.Start(ranks_.pids());
  // From the first sample on the sampler tells; a rank may run long before it when this process is stopped.
  standstill_.Add(MonotonicSeconds() - begin, false, measure::ThreadWaitSeconds() - waited_before);
  return Status::Ok();
}

Status NodeRun::Wait() {
  return ranks_.Wait({options_.own_end_seconds, options_.grace_seconds});
}

NodeReport NodeRun::Report() {
  NodeReport report;
  report.first_rank = share_.first_rank;
  report.ranks = ranks_.TakeReports();
  memory_.killer_struck = OutOfMemoryKills() > kills_before_;
  report.memory = memory_;
  const measure::SampleSeries series = sampler_.Stop();
  report.samples = measure::ToColumns(series);
  standstill_.AddSuspended(measure::SuspendedSeconds() - suspended_before_);
  report.stood_still_seconds = series.stood_still_seconds + standstill_.seconds();
  report.cpu_wait_seconds = series.cpu_wait_seconds;
  return report;
}

}  // namespace assay::launch
