#include "storage/transfer/call_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "storage/transfer/call_group.h"

namespace assay::storage {
namespace {

constexpr double kIdleSeconds = 10;

}  // namespace

CallEngine::~CallEngine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void CallEngine::Push(Event event) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
  }
  inbox_.push_back(std::move(event));
  if (inbox_.size() == 1) {
    arrived_.notify_one();
  }
}

void CallEngine::WaitForEvents() {
  const std::chrono::duration<double> limit(std::max(wake_at_ - MonotonicSeconds(), 0.0));
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, limit, [this] { return stopping_ || !inbox_.empty(); });
  batch_.swap(inbox_);
}

void CallEngine::Run() {
  wake_at_ = MonotonicSeconds() + kIdleSeconds;
  while (true) {
    WaitForEvents();
    if (batch_.empty()) {
      const std::lock_guard lock(mutex_);
      if (stopping_ && inbox_.empty()) {
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
  CallGroup& group = *event.group;
  if (event.flight != nullptr) {
    --flights_;
    group.Landed(event.flight, std::move(event.outcome));
  } else if (event.call) {
    group.Take(std::move(event.call));
  } else {
    event.work();
  }
  List(group);
  group.LetGo();
}

void CallEngine::List(CallGroup& group) {
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
  auto best = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    const int priority = (*group)->priority();
    const int most = connections_ + (priority >= kSinglePriority ? kSingleConnections : 0);
    if (flights_ < most && (*group)->can_launch() && (best == groups_.end() || priority > (*best)->priority())) {
      best = group;
    }
  }
  if (best == groups_.end()) {
    return nullptr;
  }
  groups_.splice(groups_.end(), groups_, best);
  return groups_.back();
}

void CallEngine::Serve() {
  for (auto next = groups_.begin(); next != groups_.end();) {
    CallGroup& group = **next++;
    group.Check(MonotonicSeconds());
    List(group);
  }
  while (CallGroup* group = NextToLaunch()) {
    group->LaunchNext();
    List(*group);
  }
  const double now = MonotonicSeconds();
  wake_at_ = now + kIdleSeconds;
  for (CallGroup* group : groups_) {
    group->ReissueSlow(now);
    wake_at_ = std::min(wake_at_, group->WakeAt());
  }
}

}  // namespace assay::storage
