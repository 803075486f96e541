// All objects under a prefix copied to another place, many at a time; what is there already is left alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/copy/copy_object.h"
#include "storage/copy/key_filter.h"
#include "storage/copy/same_content.h"
#include "storage/copy/tree_merge.h"
#include "storage/object_store.h"

namespace assay::storage {

struct TreeCopyOptions {
  ObjectCopyOptions object{};  ///< without progress: the listener has it
  KeyFilter filter{};          ///< what does not count is neither copied nor removed
  /// What stands at the target and is equal by this is left alone.
  Comparison comparison = Comparison::kContent;
  /// Removes from the target what the source does not have: at the end, and only where all was copied. A source without
  /// objects is an error then.
  bool remove_others = false;
  int jobs = 16;  ///< objects at a time; large ones are moved in parts, of which many travel at a time
  bool dry_run = false;
};

/// What became of one object.
struct TreeCopyEvent {
  enum class Outcome { kCopied, kSkipped, kPlanned, kFailed, kRemoved, kRemovalPlanned };
  std::string from;  ///< URIs; of a removal empty
  std::string to;
  int64_t bytes = 0;
  int64_t resumed_bytes = 0;
  Outcome outcome = Outcome::kCopied;
  Status status{};
};

/// Called from any thread, one call at a time.
class TreeCopyListener {
 public:
  virtual ~TreeCopyListener() = default;
  /// What has been found so far; `all`: and no more will be.
  virtual void OnPlan(int64_t objects, int64_t bytes, bool all) = 0;
  virtual void OnBytes(int64_t bytes) = 0;
  virtual void OnObject(const TreeCopyEvent& event) = 0;
};

/// Objects that fail do not stop the others; the status is that of the first failure, and Aborted after a cancel. An
/// object whose key is the prefix itself (a folder's marker) is left out. Both sides are listed while objects are
/// copied, and memory stays bounded however many there are. A target within the source is refused, and a source within
/// the target where others are removed.
Status CopyTree(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options,
                TreeCopyListener& listener);

}  // namespace assay::storage
