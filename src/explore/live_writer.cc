#include "explore/live_writer.h"

#include <chrono>
#include <utility>

#include "base/text.h"

namespace assay::explore {
namespace {

/// Between writes: what looks on sees a step within half a second.
constexpr auto kPause = std::chrono::milliseconds(150);
/// A sign of life, where nothing changes.
constexpr auto kLongestSilence = std::chrono::seconds(5);

}  // namespace

LiveWriter::LiveWriter(samplestore::SampleStore& store, std::string operation_uid, std::string owner, LiveState state)
    : store_(store),
      operation_uid_(std::move(operation_uid)),
      owner_(std::move(owner)),
      state_(std::move(state)),
      thread_([this] { Run(); }) {}

LiveWriter::~LiveWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  static_cast<void>(store_.EndProgress(operation_uid_));
}

template <typename Change>
void LiveWriter::Note(const Change& change) {
  {
    const std::lock_guard lock(mutex_);
    change(state_);
    changed_ = true;
  }
  wake_.notify_all();
}

ExploreCallbacks LiveWriter::Watching(ExploreCallbacks callbacks) {
  ExploreCallbacks watching;
  watching.on_start = [this, inner = callbacks.on_start](const PointStart& start) {
    Note([&](LiveState& state) { state.OnStart(start, MonotonicSeconds()); });
    if (inner) {
      inner(start);
    }
  };
  watching.on_busy = [this, inner = callbacks.on_busy](const PointStart& start) {
    Note([&](LiveState& state) { state.OnBusy(start); });
    if (inner) {
      inner(start);
    }
  };
  watching.on_event = [this, inner = callbacks.on_event](int64_t index, const job::Event& event) {
    Note([&](LiveState& state) { state.OnEvent(index, event, MonotonicSeconds()); });
    if (inner) {
      inner(index, event);
    }
  };
  watching.on_done = [this, inner = callbacks.on_done](const PointDone& done) {
    Note([&](LiveState& state) { state.OnDone(done, MonotonicSeconds()); });
    if (inner) {
      inner(done);
    }
  };
  watching.on_mean = std::move(callbacks.on_mean);
  return watching;
}

void LiveWriter::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_ = false;
    const std::string text = state_.ToJson(MonotonicSeconds());
    lock.unlock();
    static_cast<void>(store_.SetProgress(operation_uid_, owner_, text));
    lock.lock();
    wake_.wait_for(lock, kPause, [this] { return stop_; });
    wake_.wait_for(lock, kLongestSilence, [this] { return stop_ || changed_; });
  }
}

}  // namespace assay::explore
