// A process, or several that belong together, with their descendants, watched from outside.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include "measure/proc_file.h"

namespace assay::measure {

/// What a process, or a tree of them, has used since it was started and holds now.
struct ProcessUse {
  double cpu_seconds = 0;
  double rss_bytes = 0;
};

/// Used by one thread.
class ProcessTree {
 public:
  /// The trees of all `roots` count as one; the first is what root() tells of.
  explicit ProcessTree(std::vector<pid_t> roots);

  /// False once the first root has ended, also while it is a zombie.
  bool Refresh();
  /// Looks for new descendants. Costs a read for each thread of each process.
  void FindDescendants();

  /// Whether one of the roots is stopped, by a signal or a debugger.
  bool stopped() const { return stopped_; }
  const ProcessUse& root() const { return root_use_; }
  /// Never falls in CPU time: what an ended child used stays counted when its parent waited for it.
  const ProcessUse& tree() const { return tree_use_; }

 private:
  class Member {
   public:
    explicit Member(pid_t pid);
    /// Nothing once it has ended.
    std::optional<ProcessStat> Read();

   private:
    ProcFile stat_;
    clockid_t clock_ = 0;
    bool has_clock_ = false;
  };

  void AddDescendants(pid_t pid);

  std::vector<pid_t> roots_;
  std::map<pid_t, Member> members_;
  bool stopped_ = false;
  ProcessUse root_use_;
  ProcessUse tree_use_;
};

}  // namespace assay::measure
