// What is told to everybody who listens, as server-sent events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/server_stream.h"

namespace assay::serve {

/// Every event is the whole of what there is to say under its name, so that the last of a name makes all before it
/// needless: who was away gets one event for each name that changed, however much it missed. Thread-safe; nobody waits
/// for a listener, and one who does not read is cut off.
class EventHub {
 public:
  explicit EventHub(size_t most_listeners = 1000);

  /// Sends `data`, one line, to all; nothing where it is what was said last under that name.
  void Tell(const std::string& name, std::string_view data);
  /// `stream` hears what is told from now on, and first what it does not know: all but what was told up to
  /// `last_event_id`, which may be empty, or of another server. False: too many listen.
  bool Listen(std::shared_ptr<http::ResponseStream> stream, std::string_view last_event_id);
  /// A sign of life, event "beat", by which listeners that went away without a word are found.
  void Beat();
  /// Ends all streams.
  void Close();

 private:
  struct Told {
    int64_t number = 0;
    std::string data;
  };

  std::string Event(const std::string& name, const Told& told) const;
  void Send(std::string_view text);  ///< with the mutex held

  const size_t most_listeners_;
  const std::string origin_;  ///< ids of another server's events say nothing here
  std::mutex mutex_;
  int64_t last_number_ = 0;
  std::map<std::string, Told> told_;
  std::vector<std::shared_ptr<http::ResponseStream>> listeners_;
};

}  // namespace assay::serve
