#include "launch/rank_group.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace assay::launch {
Status RankGroup::Start(int ranks, const std::function<SubprocessOptions(int rank)>& child_of,
                        RankProcess::Callbacks callbacks, double clock_start) {
  on_tick_ = callbacks.on_tick;
  for (int rank = 0; rank < ranks; ++rank) {
    auto process = std::make_unique<RankProcess>();
    ASSAY_RETURN_IF_ERROR(
        process->Start(child_of(rank), rank == 0 ? std::move(callbacks) : RankProcess::Callbacks(), clock_start));
    ranks_.push_back(std::move(process));
  }
  return Status::Ok();
}

void RankGroup::Kill(int signal) {
  for (const auto& rank : ranks_) {
    rank->Kill(signal);
  }
}

std::vector<pid_t> RankGroup::pids() const {
  std::vector<pid_t> pids;
  for (const auto& rank : ranks_) {
    pids.push_back(rank->pid());
  }
  return pids;
}

Status RankGroup::Wait(const Patience& patience) {
  std::vector<Status> results(ranks_.size());
  {
    std::vector<std::jthread> others;
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      others.emplace_back([&, rank] { results[rank] = WaitFor(*ranks_[rank], patience); });
    }
    results[0] = WaitFor(*ranks_[0], patience);
    TickUntilAllEnd();
  }
  const auto failed = std::find_if(results.begin(), results.end(), [](const Status& status) { return !status.ok(); });
  return failed == results.end() ? Status::Ok() : *failed;
}

/// Whoever cancels a run may have to do so after rank 0 has ended.
void RankGroup::TickUntilAllEnd() {
  constexpr std::chrono::milliseconds kTick(100);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kTick, [this] { return all_reaped(); })) {
    lock.unlock();
    if (on_tick_) {
      on_tick_();
    }
    lock.lock();
  }
}

Status RankGroup::WaitFor(RankProcess& rank, const Patience& patience) {
  Status status = rank.Wait(patience.grace_seconds);
  std::unique_lock lock(mutex_);
  reaped_.push_back(&rank);
  ended_.notify_all();
  if (!rank.succeeded() && !std::exchange(failing_, true)) {
    EndOthers(lock, patience);
  }
  return status;
}

void RankGroup::EndOthers(std::unique_lock<std::mutex>& lock, const Patience& patience) {
  const auto everyone = [this] { return all_reaped(); };
  const auto signal_others = [this](int signal) {
    for (const auto& rank : ranks_) {
      if (std::find(reaped_.begin(), reaped_.end(), rank.get()) == reaped_.end()) {
        rank->Kill(signal);
      }
    }
  };
  if (!ended_.wait_for(lock, std::chrono::duration<double>(patience.own_end_seconds), everyone)) {
    signal_others(SIGTERM);
  }
  if (!ended_.wait_for(lock, std::chrono::duration<double>(patience.grace_seconds), everyone)) {
    signal_others(SIGKILL);
  }
}

std::vector<RankReport> RankGroup::TakeReports() {
  std::vector<RankReport> reports;
  for (const auto& rank : ranks_) {
    reports.push_back(rank->TakeReport());
  }
  return reports;
}

}  // namespace assay::launch
