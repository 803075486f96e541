// Where the checkpoints of a training are, and how its ranks agree on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/find.h"
#include "checkpoint/manage.h"
#include "checkpoint/place.h"
#include "engine/comm/communicator.h"
#include "storage/transfer/observer.h"

namespace assay::engine {

/// Work under way on every rank of a training, beside what the ranks do.
class WorkTogether {
 public:
  virtual ~WorkTogether() = default;
  /// Meets the other ranks once, when this one's work is over or `pause` has passed. Whether all are done. Where the
  /// work threw on some, all throw: these what it threw, the others who failed and why. All ranks call it together.
  virtual bool meet(std::chrono::milliseconds pause) = 0;
};

/// How work is spread over the ranks: what the rank with the most has to do, where each of that half with the least has
/// at most 1. One that takes far longer than this explains is given up. 0: nothing is known of it, as where the first
/// rank alone works, and each may take any time.
using MostWork = double;

/// Of writing so many bytes on each rank. 0 where half of the ranks have so little to write that their time says
/// nothing of the others'.
MostWork most_work_of(std::vector<int64_t> bytes_of_ranks);

/// The ranks of a training.
struct CheckpointRanks {
  Communicator* world = nullptr;  ///< null: there is one
  /// `is_beside`: the training goes on meanwhile; else it waits.
  std::function<std::unique_ptr<WorkTogether>(std::string what, MostWork most, bool is_beside,
                                              std::function<void()> work)>
      start;

  bool is_first() const { return world == nullptr || world->rank() == 0; }
  size_t rank() const { return world == nullptr ? 0 : static_cast<size_t>(world->rank()); }
  /// Returns when all are done, for which the training waits; throws as WorkTogether does.
  void together(std::string what, std::function<void()> work) const;
  /// What each rank says, by rank. All call it together.
  std::vector<std::string> tell(const std::string& own, std::string_view label) const;
};

/// How a store is reached, over what the environment says.
struct FolderOptions {
  storage::CancelFlag cancel = nullptr;
  std::shared_ptr<storage::RequestObserver> observer = {};  ///< sees the requests, where it is not null
  std::optional<bool> sync_files = {};                      ///< whether a write to a disk is done once that has it
  int connections = 0;                                      ///< that transfer at a time; 0: as without this
};

/// The folder, or a bucket's prefix, of an URI as `assay object` takes them, or of a path. Nothing is sent. Throws
/// StatusError.
checkpoint::Place open_folder(const std::string& uri, const FolderOptions& options = {});

/// step-N below a folder or a bucket's prefix.
class RunFolder {
 public:
  /// As open_folder().
  explicit RunFolder(const std::string& uri, const FolderOptions& options = {});

  /// On disks of this machine, or mounted on it.
  bool is_local() const { return is_local_; }
  std::string uri() const { return root_.uri(); }
  checkpoint::Place place_of(int64_t step) const;

  struct Standing {
    std::set<int64_t> steps;                  ///< of those that are whole, as far as names and sizes tell
    std::map<int64_t, Status> damaged_steps;  ///< of those that are not, and what is wrong with each
    checkpoint::Listing listing;              ///< of all that stands below, of others too

    /// Somewhere below something looks like a checkpoint and is none.
    bool has_damaged() const { return !listing.others.empty(); }
    std::optional<int64_t> last_step() const { return steps.empty() ? std::nullopt : std::optional(*steps.rbegin()); }
  };
  /// Asks the store. Throws StatusError, also where it would not tell of a step whether that is whole.
  Standing look() const;
  /// Removes checkpoints of the run but those that `options` keep; of nothing to keep none. Those of `damaged_steps`
  /// stay, and take nobody's place among the last. What cannot be removed stays, and stderr says why.
  void keep(const checkpoint::RetentionOptions& options, const std::set<int64_t>& damaged_steps = {}) const;
  /// Removes what saves of the run left that were killed, older than so long, of what look() saw; as keep().
  void sweep(const Standing& looked, double older_than_seconds) const;

 private:
  bool is_of_run(const checkpoint::ListedCheckpoint& listed) const;
  /// Of a checkpoint of the run by where it stands.
  std::optional<int64_t> step_at(const std::string& uri) const;

  checkpoint::Place root_;
  bool is_local_;
};

}  // namespace assay::engine
