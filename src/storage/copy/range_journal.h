// A file that remembers which ranges of an object have arrived, so that the next run of the program can go on.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/file/staged_file.h"
#include "storage/object_store.h"

namespace assay::storage {

/// JSON lines: etag and size of the object, then one line a range with its checksum. Held by one process at a time
/// (flock). Belongs to one thread.
class RangeJournal {
 public:
  /// The journal in `notes` of that version of an object; what it says of another version is forgotten. Null where
  /// another process holds it, or has removed it meanwhile.
  static std::unique_ptr<RangeJournal> Open(StagedNotes notes, const ObjectInfo& object);

  /// The ranges that an earlier run wrote down and that `memory` (the whole object's) still holds: their checksums are
  /// computed again, because a file need not have reached the disk when its journal did. In order, without overlaps.
  std::vector<PartChecksum> Check(Bytes memory) const;
  void Add(const PartChecksum& range);
  /// There is nothing to go on with.
  void Remove();

 private:
  explicit RangeJournal(StagedNotes notes) : notes_(std::move(notes)) {}
  void ReadEarlier(const ObjectInfo& object);
  void Append(const std::string& line);

  StagedNotes notes_;
  std::vector<PartChecksum> earlier_;
};

}  // namespace assay::storage
