// Which ranks a failed collective waited for, and the one line that all ranks end with.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/host_map.h"

namespace c10d {
class Store;
}

namespace assay::engine {

/// A connection broke or time ran out: somebody was lost, but who is not known here.
class ConnectionError : public CommError {
 public:
  /// `suspects`: the ranks of the job that were waited for; they may have waited for others.
  ConnectionError(const std::string& reason, std::vector<int> suspects)
      : CommError(reason), suspects_(std::move(suspects)) {}
  const std::vector<int>& suspects() const { return suspects_; }

 private:
  std::vector<int> suspects_;
};

/// A failed collective as one rank saw it.
struct SeenFailure {
  std::vector<int> members;   ///< ranks of the job
  std::vector<int> suspects;  ///< of these, those that this rank waited for
  std::string where;
  std::string reason;
};

/// Where the ranks of a job tell each other of failures: its store, which may be gone. Safe from several threads.
class LossBoard {
 public:
  /// `ends_store`: the store goes with this rank.
  LossBoard(c10::intrusive_ptr<c10d::Store> store, int rank, std::shared_ptr<const HostMap> hosts, bool ends_store);
  /// After a failure waits, where the store ends with it, until all ranks know the line that are not lost: some seconds
  /// at most, since who computes comes when it is done.
  ~LossBoard();
  LossBoard(const LossBoard&) = delete;
  LossBoard& operator=(const LossBoard&) = delete;

  /// Says that this rank saw a failure, and is therefore not the lost one.
  void report() const;
  /// The line about a failure that this rank has reported. A network says that a connection broke or that time ran out,
  /// not who is to blame: every rank that sees a failure says so here, and those that were waited for and have not
  /// within two seconds are the missing ones, with what else is missing of their machines, unless a line was published
  /// meanwhile. A rank that computes and was not waited for may miss the roll call.
  std::string find(const SeenFailure& failure) const;
  /// Puts `line`, which names who is to blame, up for all ranks; gives the line that was first. `lost`: who will never
  /// read it.
  std::string publish(const std::string& line, const std::vector<int>& lost = {}) const;
  /// Says that this rank knows the line, from others on its machine.
  void know() const;

  const HostMap& hosts() const { return *hosts_; }

 private:
  /// What `ask` gives, or `otherwise` with a word on the store where that does not answer.
  std::string answer(const std::function<std::string(c10d::Store&)>& ask,
                     const std::function<std::string(const std::string& rank_0)>& otherwise) const;

  bool all_know() const;

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  std::shared_ptr<const HostMap> hosts_;
  bool ends_store_;
  mutable std::atomic<bool> has_failed_ = false;
};

}  // namespace assay::engine
