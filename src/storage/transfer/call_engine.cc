#include "storage/transfer/call_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "storage/transfer/call_group.h"

namespace assay::storage {
namespace {

constexpr double kIdleSeconds = 10;
/// Sweeps go over all groups: no more often than this.
constexpr double kSweepSeconds = 0.002;

}  // namespace

CallEngine::~CallEngine() {
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->stopping = true;
  }
  inbox_->arrived.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (fetching_.joinable()) {
    fetching_.join();
  }
}

void CallEngine::Push(Event event) {
  const std::shared_ptr<Inbox> inbox = inbox_;
  std::unique_lock lock(inbox->mutex);
  if (inbox->stopping) {
    return;  // no group is left: these are credentials
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
  }
  inbox->events.push_back(std::move(event));
  const bool first = inbox->events.size() == 1;
  lock.unlock();
  // Not under the lock, for which the thread would have to wait again.
  if (first) {
    inbox->arrived.notify_one();
  }
}

void CallEngine::WaitForEvents() {
  const std::chrono::duration<double> limit(std::max(wake_at_ - MonotonicSeconds(), 0.0));
  std::unique_lock lock(inbox_->mutex);
  inbox_->arrived.wait_for(lock, limit, [this] { return inbox_->stopping || !inbox_->events.empty(); });
  batch_.swap(inbox_->events);
}

void CallEngine::Run() {
  while (true) {
    WaitForEvents();
    if (batch_.empty()) {
      const std::lock_guard lock(inbox_->mutex);
      if (inbox_->stopping && inbox_->events.empty()) {
        return;
      }
    }
    while (!batch_.empty()) {
      Event event = std::move(batch_.front());
      batch_.pop_front();
      Take(std::move(event));
    }
    Serve();
  }
}

void CallEngine::Take(Event event) {
  if (event.prepared) {
    TakeCredentials(*event.prepared);
    return;
  }
  CallGroup& group = *event.group;
  if (event.flight != nullptr) {
    --flights_;
    group.Landed(event.flight, std::move(event.outcome));
  } else if (event.call) {
    group.Take(std::move(event.call));
  } else {
    event.work();
  }
  Update(group);
  group.LetGo();
}

void CallEngine::Update(CallGroup& group) {
  if (group.can_launch() && !group.turn_) {
    Turns& turns = turns_[group.priority()];
    group.turn_ = turns.insert(turns.end(), &group);
  } else if (!group.can_launch() && group.turn_) {
    turns_[group.priority()].erase(*group.turn_);
    group.turn_.reset();
  }
  if (group.has_calls()) {
    wake_at_ = std::min(wake_at_, group.WakeAt());
  }
  if (group.has_calls() && !group.listed_) {
    group.Hold();
    group.listed_ = groups_.insert(groups_.end(), &group);
  } else if (!group.has_calls() && group.listed_) {
    groups_.erase(*group.listed_);
    group.listed_.reset();
    group.LetGo();
  }
}

/// The next group in turn of those with the highest priority that have a call to send and may.
CallGroup* CallEngine::NextToLaunch() {
  while (!turns_.empty() && turns_.begin()->second.empty()) {
    turns_.erase(turns_.begin());
  }
  if (turns_.empty()) {
    return nullptr;
  }
  auto& [priority, turns] = *turns_.begin();
  if (flights_ >= connections_ + (priority >= kSinglePriority ? kSingleConnections : 0)) {
    return nullptr;
  }
  turns.splice(turns.end(), turns, turns.begin());
  return turns.back();
}

void CallEngine::Sweep(double now) {
  wake_at_ = now + kIdleSeconds;
  for (auto next = groups_.begin(); next != groups_.end();) {
    CallGroup& group = **next++;
    group.Check(now);
    group.ReissueSlow(now);
    Update(group);
  }
  wake_at_ = std::max(wake_at_, now + kSweepSeconds);
}

void CallEngine::Serve() {
  if (const double now = MonotonicSeconds(); now >= wake_at_) {
    Sweep(now);
  }
  CallGroup* group = NextToLaunch();
  if (group == nullptr || !HasCredentials()) {
    return;
  }
  for (; group != nullptr; group = NextToLaunch()) {
    group->LaunchNext();
    Update(*group);
  }
}

bool CallEngine::HasCredentials() {
  const Signer::Need need = signer_.need();
  if (need != Signer::Need::kNothing && !just_prepared_) {
    FetchCredentials();
  }
  return std::exchange(just_prepared_, false) || need != Signer::Need::kMust;
}

void CallEngine::FetchCredentials() {
  if (fetching_.joinable()) {
    return;
  }
  fetching_ = std::thread([this] {
    Event event;
    event.prepared = signer_.Prepare();
    Push(std::move(event));
  });
}

void CallEngine::TakeCredentials(const Status& prepared) {
  fetching_.join();
  if (prepared.ok()) {
    just_prepared_ = true;
    return;
  }
  if (signer_.need() != Signer::Need::kMust) {
    return;
  }
  for (auto next = groups_.begin(); next != groups_.end();) {
    CallGroup& group = **next++;
    group.FailUnsigned(prepared);
    Update(group);
  }
}

}  // namespace assay::storage
