// Two trees beside each other, key by key: what is in both, in one, in the other.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "storage/copy/key_filter.h"
#include "storage/copy/object_stream.h"
#include "storage/object_store.h"

namespace assay::storage {

struct TreePlace {
  ObjectStore* store = nullptr;
  std::string prefix{};  ///< empty, or with its '/'
};

/// What stands under one key below the two prefixes; one of the two may be missing.
struct TreePair {
  std::optional<ObjectInfo> source{};
  std::optional<ObjectInfo> target{};
};

struct TreeMergeOptions {
  KeyFilter filter{};        ///< of keys below the prefixes, on both sides
  bool with_target = true;   ///< false: the target is not listed, and no pair has one
  bool only_target = false;  ///< give pairs that have no source, too
  CancelFlag cancel = nullptr;
};

/// Lists both at the same time and holds a few pages of each, however many there are. The target is not asked before
/// the source has given an object, or has ended where what is only in the target counts. Objects whose keys are the
/// prefix itself (a folder's marker) are left out. Belongs to one thread.
class TreeMerge {
 public:
  TreeMerge(const TreePlace& source, const TreePlace& target, TreeMergeOptions options);

  /// Nothing at the end.
  Result<std::optional<TreePair>> Next();

 private:
  /// The next object that counts.
  Result<ObjectInfo*> Peek(ObjectStream& stream, const TreePlace& place) const;
  /// Null, too, where what is left of the target does not count.
  Result<ObjectInfo*> PeekTarget(bool source_ended);

  const TreePlace source_;
  const TreePlace target_;
  const TreeMergeOptions options_;
  ObjectStream from_;
  std::optional<ObjectStream> to_;
};

}  // namespace assay::storage
