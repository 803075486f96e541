// The one thread that reads a store for all who ask: neither they nor the loops of the server wait for one another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "http/server_response.h"
#include "serve/event_hub.h"
#include "serve/library.h"

namespace assay::serve {

class ReaderThread {
 public:
  using Question = std::function<http::ServerResponse(Library&)>;

  using Glance = std::function<Library::State(Library&)>;

  /// Looks at the store a few times a second, by `glance`, and tells `hub` of what changed: events "store" and
  /// "problem". Both must outlive it.
  ReaderThread(Library& library, EventHub& hub, Glance glance = [](Library& library) { return library.Look(); });
  ~ReaderThread();

  /// Asks it to end, as the destructor does, which waits for it.
  void Stop();
  /// After Stop(): set once it has ended, which a store whose reads block delays.
  const std::future<void>& ended() const { return ended_; }

  /// A response that comes once the thread got to `question`.
  http::ServerResponse Ask(Question question);

  /// From another thread: tells `hub` where what is read now was begun longer than `seconds` ago. The next look at the
  /// store takes it back.
  void TellOfLongRead(double seconds);

 private:
  struct Asked {
    Question question;
    std::shared_ptr<http::DeferredResponse> response;
  };

  void Run();
  void Look();
  void Answer(const Asked& asked);
  /// Does one thing that may take long.
  void Read(const std::function<void()>& read);

  Library& library_;
  EventHub& hub_;
  const Glance glance_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Asked> asked_;            ///< guarded by mutex_
  bool stop_ = false;                  ///< guarded by mutex_
  std::optional<double> reads_since_;  ///< guarded by mutex_
  std::packaged_task<void()> run_;
  std::future<void> ended_;
  std::thread thread_;  ///< last: begins when all else stands
};

}  // namespace assay::serve
