#include "engine/comm/gloo/connections.h"

#include <ATen/Functions.h>

#include <utility>
#include <vector>

#include "base/text.h"

namespace assay::engine {
namespace {

constexpr std::chrono::milliseconds kLookInterval{250};
/// Of a wait, after which its connection is looked at.
constexpr double kLongSeconds = 1;

/// Calls `end` when it goes out of scope.
template <typename End>
class Ending {
 public:
  explicit Ending(const End& end) : end_(end) {}
  ~Ending() { end_(); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  const End& end_;
};

c10::intrusive_ptr<c10d::Work> ask_for_nothing(c10d::Backend& gloo, int peer) {
  std::vector<at::Tensor> buffers{at::empty({1}, at::kByte)};
  return gloo.recv(buffers, peer, kNobodySends);
}

/// gloo has no call for it, but closes all connections of a group when a message does not come in time. From a rank
/// whose connection is broken already it does not wait for one.
void close_connections_of(c10d::Backend& gloo) {
  for (int step = 1; step < gloo.getSize(); ++step) {
    try {
      ask_for_nothing(gloo, (gloo.getRank() + step) % gloo.getSize())->wait(std::chrono::milliseconds(1));
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace

void OpenConnections::add(const GlooBackend& gloo) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(backends_, [](const auto& backend) { return backend.expired(); });
    backends_.emplace_back(gloo);
    if (!closed_) {
      return;
    }
  }
  close_connections_of(*gloo);
}

void OpenConnections::close_all() {
  std::vector<c10::weak_intrusive_ptr<c10d::Backend>> open;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    open = std::exchange(backends_, {});
  }
  for (const auto& backend : open) {
    if (const GlooBackend gloo = backend.lock()) {
      close_connections_of(*gloo);
    }
  }
}

MessageWaits::MessageWaits(std::chrono::milliseconds deadline) : deadline_(deadline), thread_([this] { watch(); }) {}

MessageWaits::~MessageWaits() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

void MessageWaits::wait(const GlooBackend& gloo, int peer, c10d::Work& work) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++number_;
    waits_.emplace(number, Wait{.gloo = gloo, .peer = peer, .work = &work, .since = MonotonicSeconds()});
  }
  std::string broken;
  const auto take = [&] {
    const std::lock_guard lock(mutex_);
    broken = waits_.extract(number).mapped().broken;
  };
  const bool came = with_peer(peer, [&] {
    const Ending ending(take);
    return work.wait(deadline_);
  });
  if (!came) {
    throw PeerFailure(peer, broken);
  }
}

std::map<uint64_t, MessageWaits::Wait> MessageWaits::long_waits() const {
  std::map<uint64_t, Wait> found;
  for (const auto& [number, wait] : waits_) {
    if (MonotonicSeconds() - wait.since > kLongSeconds) {
      found.emplace(number, wait);
    }
  }
  return found;
}

void MessageWaits::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    stopping_.wait_for(lock, kLookInterval);
    const std::map<uint64_t, Wait> waits = long_waits();
    lock.unlock();
    look_at(waits);
    lock.lock();
  }
}

void MessageWaits::look_at(const std::map<uint64_t, Wait>& waits) {
  for (const auto& [number, wait] : waits) {
    try {
      ask_for_nothing(*wait.gloo, wait.peer);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      const auto still = waits_.find(number);
      if (still == waits_.end()) {
        continue;
      }
      if (std::exchange(still->second.broken, error.what()).empty()) {
        continue;
      }
      still->second.work->abort();
    }
  }
}

}  // namespace assay::engine
