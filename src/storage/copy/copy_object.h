// One object copied from any store to any other, by the shortest way there is between the two.
#pragma once

#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

struct ObjectCopyOptions {
  /// Without metadata, the copy has the source's content type and metadata, where both stores keep such.
  WriteOptions write;
  bool verify = true;
  /// Of what passes through memory, of which there are two.
  int64_t window_bytes = int64_t{32} << 20;
  /// Where parts of unfinished uploads are remembered (part_journal.h). Empty: nowhere, and nothing is remembered
  /// beside unfinished files either (range_journal.h).
  std::string journal_folder;
  /// What a listing said, which saves asking; below 0: unknown. The object may have become another since.
  int64_t listed_bytes = -1;
};

struct CopiedObject {
  ObjectInfo info;
  int64_t resumed_bytes = 0;  ///< that an earlier try had sent or received
};

/// Within one store, and between buckets of one service where the stores can tell, the store copies. A file is sent
/// from where it lies, and compared with the checksum recorded of it before it is published; one that is too large for
/// one request can be gone on with after a crash; one that another program changes or cuts short meanwhile is an error.
/// What becomes a file is received where it will lie, under no name until it is whole; from 32 MiB on that too can be
/// gone on with, as long as the object stays the same.
/// Everything else streams through memory in windows, checked against the source's checksum before it is
/// published. Safe from several threads.
Result<CopiedObject> CopyObject(ObjectStore& source, const std::string& from, ObjectStore& target,
                                const std::string& to, const ObjectCopyOptions& options);

}  // namespace assay::storage
