#include "engine/comm/gloo/connections.h"

#include <ATen/Functions.h>

#include "base/text.h"

namespace assay::engine {
namespace {

constexpr std::chrono::milliseconds kLookInterval{500};
/// Of a wait, after which its connection is looked at.
constexpr double kLongSeconds = 1;

c10::intrusive_ptr<c10d::Work> ask_for_nothing(c10d::Backend& gloo, int peer) {
  std::vector<at::Tensor> buffers{at::empty({1}, at::kByte)};
  return gloo.recv(buffers, peer, kNobodySends);
}

}  // namespace

void close_all_connections(c10d::Backend& gloo, int rank, int size) {
  // gloo has no call for it, but closes all connections of a group when a message does not come in time. From a rank
  // whose connection is broken already it does not wait for one.
  for (int step = 1; step < size; ++step) {
    try {
      ask_for_nothing(gloo, (rank + step) % size)->wait(std::chrono::milliseconds(1));
    } catch (const std::exception&) {
      continue;
    }
  }
}

MessageWaits::MessageWaits(std::chrono::milliseconds deadline)
    : deadline_(deadline), thread_([this] { look_at_waits(); }) {}

MessageWaits::~MessageWaits() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

void MessageWaits::wait(c10d::Backend& gloo, int peer, c10d::Work& work) {
  Wait own{.gloo = gloo, .peer = peer, .work = work, .since = MonotonicSeconds()};
  if (!with_peer(peer, [&] { return wait_for(own); })) {
    throw PeerFailure(peer, own.broken);
  }
}

bool MessageWaits::wait_for(Wait& wait) {
  struct Entry {
    MessageWaits& all;
    Wait& own;
    Entry(MessageWaits& waits, Wait& wait) : all(waits), own(wait) {
      const std::lock_guard lock(all.mutex_);
      all.waits_.push_back(&own);
    }
    ~Entry() {
      const std::lock_guard lock(all.mutex_);
      std::erase(all.waits_, &own);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
  };
  const Entry entry(*this, wait);
  return wait.work.wait(deadline_);
}

void MessageWaits::look_at_waits() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    stopping_.wait_for(lock, kLookInterval);
    for (Wait* wait : waits_) {
      if (wait->broken.empty() && MonotonicSeconds() - wait->since > kLongSeconds) {
        end_if_broken(*wait);
      }
    }
  }
}

void MessageWaits::end_if_broken(Wait& wait) {
  try {
    ask_for_nothing(wait.gloo, wait.peer);
  } catch (const std::exception& error) {
    wait.broken = error.what();
    wait.work.abort();
  }
}

}  // namespace assay::engine
