// Which ranks a failed collective waited for, and the one line that all ranks end with.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <memory>
#include <string>
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
  using CommError::CommError;
};

/// Where the ranks of a job tell each other of failures: its store, which may be gone. Safe from several threads.
class LossBoard {
 public:
  LossBoard(c10::intrusive_ptr<c10d::Store> store, int rank, std::shared_ptr<const HostMap> hosts);

  /// The line about a collective of `members` (ranks of the job) at `where` that failed with `reason`. A network says
  /// that a connection broke or that time ran out, not who is to blame: every rank that sees a failure says so here,
  /// and those that have not within two seconds are the missing ones, unless a line was published meanwhile.
  std::string find(const std::vector<int>& members, const std::string& where, const std::string& reason) const;
  /// Puts `line`, which names who is to blame, up for all ranks; gives the line that was first.
  std::string publish(const std::string& line) const;

  const HostMap& hosts() const { return *hosts_; }

 private:
  /// What `ask` gives, or `otherwise` with a word on the store where that does not answer.
  std::string answer(const std::function<std::string(c10d::Store&)>& ask,
                     const std::function<std::string(const std::string& rank_0)>& otherwise) const;

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  std::shared_ptr<const HostMap> hosts_;
};

}  // namespace assay::engine
