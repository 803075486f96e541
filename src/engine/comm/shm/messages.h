// Point-to-point messages over shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/call_meter.h"
#include "engine/comm/shm/arena.h"
#include "engine/comm/shm/meeting.h"

namespace assay::engine {

/// One rank's messages. They are apart from the collectives: a rank that sends goes on at once, and a receiver takes
/// its messages, in order, when it waits for them.
class ShmMessages {
 public:
  ShmMessages(int rank, int size, std::shared_ptr<ArenaSet> arenas, const Meeting& meeting,
              std::shared_ptr<CallMeter> meter);

  WorkPtr send(Call call);
  WorkPtr recv(Call call);

 private:
  class SendWork;
  class RecvWork;

  /// Takes the messages of `from` up to `number`, in order.
  void receive_up_to(int from, int64_t number);
  void receive(const Call& call);

  /// From one rank, not yet taken: numbers done + 1, done + 2, ...
  struct Inbox {
    int64_t done = 0;
    std::vector<Call> pending;
  };

  const int rank_;
  std::shared_ptr<ArenaSet> arenas_;
  const Meeting& meeting_;
  std::shared_ptr<CallMeter> meter_;
  std::mutex mutex_;
  std::vector<Inbox> inboxes_;  // protected by mutex_
};

}  // namespace assay::engine
