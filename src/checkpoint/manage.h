// Many checkpoints at a place: listing them, keeping some, removing what crashes left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/find.h"

namespace assay::checkpoint {

struct ListedCheckpoint {
  Found found{};
  std::string uri{};
  std::optional<int64_t> step{};
  int64_t bytes = 0;                ///< of all its files
  std::vector<std::string> keys{};  ///< likewise
  double time = 0;                  ///< seconds since 1970: of the save, or when the pointer was written
  bool is_ours() const { return found.manifest != nullptr; }
};

/// What looks like a checkpoint and is none: a file that it names is missing or has another size, it cannot be read.
struct NotOffered {
  std::string uri{};
  Status why{};

  /// The store failed, not the checkpoint, or another one was committed meanwhile: what stands may be whole.
  bool is_unknown() const;
};

struct Listing {
  std::vector<ListedCheckpoint> checkpoints{};  ///< by step, those without one first, then by time and URI
  std::vector<NotOffered> others{};
  std::vector<storage::ObjectInfo> unnamed{};  ///< objects that no checkpoint names
};

/// Everything under the place, however deep. Of each only what makes it valid is read. A folder with .metadata, weights
/// in safetensors or pytorch_model.bin is one checkpoint, every other file of torch.save another; optimizer.pt and its
/// like beside weights are none.
Result<Listing> ListCheckpoints(const Place& place);

/// Whether a checkpoint stands at the place itself that is not whole, as a listing tells; the store's error where that
/// cannot be known.
Result<bool> IsDamaged(const Place& place);

/// Removes the file that makes it valid first, then the others: what is left after a crash is nothing that is offered.
/// Nothing is removed where that file is gone by now, nor where it was replaced, which is FailedPrecondition. As
/// RemovableNamesOf() of removable.h.
Status RemoveCheckpoint(const Found& found);
/// Likewise of several, in their order: what becomes of each. One that stays keeps none of the others.
std::vector<Status> RemoveCheckpoints(const std::vector<ListedCheckpoint>& checkpoints);

struct RetentionOptions {
  int keep_last = 0;  ///< of those with the highest steps
  int keep_best = 0;  ///< by `metric`; those without it are never among them, and kept where it alone decides
  std::string metric{};
  bool highest_is_best = false;
};

/// Those of a listing that retention removes, the oldest first: saves of ours that are neither among the last nor among
/// the best. InvalidArgument where nothing is to be kept, or by a metric that none has.
Result<std::vector<ListedCheckpoint>> ToRemove(const Listing& listing, const RetentionOptions& options);

struct Leftover {
  std::string uri{};
  std::string key{};
  std::string upload_id{};  ///< of an unfinished upload; empty: an object
  int64_t bytes = 0;
};

/// Unfinished uploads below the place, older than so long; of stores that keep any.
Result<std::vector<Leftover>> FindUploads(const Place& place, double older_than_seconds);

/// What saves left that no checkpoint names, older than `older_than_seconds`: objects that bear the mark of a save of
/// ours (file systems without extended attributes keep none), and unfinished uploads. FailedPrecondition where a
/// checkpoint is damaged: what belongs to it is not known.
Result<std::vector<Leftover>> FindLeftovers(const Place& place, double older_than_seconds);
/// Likewise of a place that was listed already: it is listed once more only where something there may be one.
Result<std::vector<Leftover>> FindLeftovers(const Place& place, const Listing& looked, double older_than_seconds);

/// Removes them; the status of the first that could not be.
Status RemoveLeftovers(const Place& place, const std::vector<Leftover>& leftovers);

}  // namespace assay::checkpoint
