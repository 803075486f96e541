// All objects under a prefix copied to another place, many at a time; what is there already is left alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/copy/copy_object.h"
#include "storage/object_store.h"

namespace assay::storage {

struct TreeCopyOptions {
  ObjectCopyOptions object;  ///< without progress: the listener has it
  int jobs = 16;             ///< objects at a time; large ones are moved in parts, of which many travel at a time
  bool skip_equal = true;    ///< what stands at the target with the same content (same_content.h)
  bool dry_run = false;
};

/// What became of one object.
struct TreeCopyEvent {
  enum class Outcome { kCopied, kSkipped, kPlanned, kFailed };
  std::string from;  ///< URIs
  std::string to;
  int64_t bytes = 0;
  int64_t resumed_bytes = 0;
  Outcome outcome = Outcome::kCopied;
  Status status;
};

/// Called from any thread, one call at a time.
class TreeCopyListener {
 public:
  virtual ~TreeCopyListener() = default;
  virtual void OnPlan(int64_t objects, int64_t bytes) = 0;
  virtual void OnBytes(int64_t bytes) = 0;
  virtual void OnObject(const TreeCopyEvent& event) = 0;
};

struct TreePlace {
  ObjectStore* store = nullptr;
  std::string prefix;  ///< empty, or with its '/'
};

/// Objects that fail do not stop the others; the status is that of the first failure, and Aborted after a cancel. An
/// object whose key is the prefix itself (a folder's marker) is left out.
Status CopyTree(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options,
                TreeCopyListener& listener);

}  // namespace assay::storage
