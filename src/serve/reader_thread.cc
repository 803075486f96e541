#include "serve/reader_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"

namespace assay::serve {
namespace {

constexpr double kLookSeconds = 0.25;
/// Who has to wait longer than for so many others is told to come again.
constexpr size_t kMostAsked = 500;

std::string TextEvent(const std::string& text) {
  return DumpJson({{"text", text}});
}

/// What is told of an exception, which ends neither the thread nor the server.
std::string Unreadable(const std::exception& error) {
  return fmt::format("what the store has cannot be shown: {}", OneLine(error.what()));
}

}  // namespace

ReaderThread::ReaderThread(Library& library, EventHub& hub, Glance glance)
    : library_(library),
      hub_(hub),
      glance_(std::move(glance)),
      run_([this] { Run(); }),
      ended_(run_.get_future()),
      thread_(std::ref(run_)) {}

ReaderThread::~ReaderThread() {
  Stop();
  thread_.join();
}

void ReaderThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

http::ServerResponse ReaderThread::Ask(Question question) {
  auto deferred = std::make_shared<http::DeferredResponse>();
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() >= kMostAsked) {
      return http::TextResponse(503, "too many ask at once: try again");
    }
    asked_.push_back({.question = std::move(question), .response = deferred});
  }
  wake_.notify_all();
  http::ServerResponse response;
  response.deferred = std::move(deferred);
  return response;
}

void ReaderThread::Look() {
  try {
    const Library::State state = glance_(library_);
    hub_.Tell("problem", TextEvent(state.problem));
    hub_.Tell("store", TextEvent(state.contents));
  } catch (const std::exception& error) {
    library_.Distrust(Unreadable(error));
    hub_.Tell("problem", TextEvent(Unreadable(error)));
  }
}

void ReaderThread::Answer(const Asked& asked) {
  try {
    asked.response->Set(asked.question(library_));
  } catch (const std::exception& error) {
    library_.Forget();
    asked.response->Set(http::TextResponse(500, Unreadable(error)));
  }
}

void ReaderThread::Read(const std::function<void()>& read) {
  {
    const std::lock_guard lock(mutex_);
    reads_since_ = MonotonicSeconds();
  }
  read();
  const std::lock_guard lock(mutex_);
  reads_since_.reset();
}

void ReaderThread::TellOfLongRead(double seconds) {
  const std::lock_guard lock(mutex_);
  if (reads_since_ && MonotonicSeconds() - *reads_since_ > seconds) {
    hub_.Tell("problem", TextEvent("reading the store takes long: what is shown is what it said last"));
  }
}

void ReaderThread::Run() {
  double look_at = 0;
  while (true) {
    std::optional<Asked> next;
    {
      std::unique_lock lock(mutex_);
      const auto wait = std::chrono::duration<double>(std::max(0.0, look_at - MonotonicSeconds()));
      wake_.wait_for(lock, wait, [this] { return stop_ || !asked_.empty(); });
      if (stop_) {
        return;
      }
      if (!asked_.empty()) {
        next = std::move(asked_.front());
        asked_.pop_front();
      }
    }
    if (next) {
      Read([&] { Answer(*next); });
    }
    if (MonotonicSeconds() >= look_at) {
      Read([this] { Look(); });
      look_at = MonotonicSeconds() + kLookSeconds;
    }
  }
}

}  // namespace assay::serve
