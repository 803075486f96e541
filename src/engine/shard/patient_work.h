// Work of some ranks, of no foreseeable length, that the others wait for.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/communicator.h"

namespace assay::engine {

/// How long ranks wait for each other's work.
struct Patience {
  /// After so long the first rank says on stderr who is not done ("rank 1 still has to ..."), and again whenever twice
  /// as long has passed.
  double notice_seconds = 5;
  /// What the last ranks may take once half of all are done: so long, or three times as long as these took, whichever
  /// is more. 0: any time.
  double slack_seconds = 0;
  /// Of the rank with the most to do, where each of the half that is done first has at most 1: it may take so many
  /// times longer.
  double most_work = 1;
  /// Whether it is over for all when one has failed, or only when each is done or has failed.
  bool ends_at_failure = true;
  /// Whether the work leaves the processors to what else is computed (base/thread_priority.h).
  bool yields = false;
  /// Ends this rank's work soon, where another's failure ended it or this one is given up. Empty: it is waited for.
  std::function<void()> give_up = {};
};

/// Work on every rank of a group, each on a thread of its own, while the ranks go on meeting: however long it takes (a
/// slow disk) no collective's deadline passes, and a rank that is lost meanwhile is noticed as ever. The work must use
/// no collective; it sees the device as the current one where that has an index. All ranks make the same calls, from
/// one thread.
class PatientWork {
 public:
  /// Begins. `ranks` null: there is one; else it outlives this.
  PatientWork(Communicator* ranks, c10::Device device, std::string what, std::function<void()> work,
              Patience patience = {});
  /// Waits for this rank's work, and says so on stderr where that is not over.
  ~PatientWork();
  PatientWork(const PatientWork&) = delete;
  PatientWork& operator=(const PatientWork&) = delete;

  /// Meets the other ranks once, when this one's work is over or `pause` has passed. Whether it is over for all: each
  /// is done, some failed, or some were given up. This rank's own is over then, unless nothing could end it: it is
  /// waited for when this goes. Throws CommError.
  bool meet(std::chrono::milliseconds pause);
  /// Meets until then.
  void wait();

  // When it is over:
  const std::vector<int>& failed_ranks() const;
  const std::vector<int>& given_up_ranks() const;
  bool is_done() const { return failed_ranks().empty() && given_up_ranks().empty(); }
  /// What this rank's work threw.
  const std::exception_ptr& error() const;
  /// Since it began.
  double seconds() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Does `work` on every rank of `ranks` and returns when all are done. What it throws is thrown here; the other ranks
/// then throw CommError.
void run_patiently(Communicator& ranks, c10::Device device, std::string_view what, const std::function<void()>& work,
                   const Patience& patience = {});

}  // namespace assay::engine
