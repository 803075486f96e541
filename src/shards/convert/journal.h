// What a conversion that has not ended remembers, beside the shards that it wrote: which it is, and of each shard what
// the index and the manifest will say of it and where the rows behind it begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/dataset/dataset.h"
#include "shards/format/shard_builder.h"

namespace assay::shards {

/// Where the rows behind a shard begin.
struct RowPosition {
  int64_t source = 0;
  int64_t offset = 0;
  int64_t line = 0;  ///< lines of the source before it
};

/// A shard that stands.
struct WrittenShard {
  ShardEntry entry;
  ShardProof proof;
  std::vector<SampleRecord> records;
  RowPosition next;
};

/// "assay/unfinished/000007"
std::string JournalName(int64_t shard);

std::string FormatJournalEntry(const WrittenShard& shard);
/// Nothing where it is not whole, or of a shard of another schema.
std::optional<WrittenShard> ParseJournalEntry(std::string_view text, std::string_view source);

/// The shards from `first` on that are written down without a gap, and stand in their size. What stands behind a gap
/// is written again.
Result<std::vector<WrittenShard>> ReadJournal(const DatasetPlace& place, int64_t first);

/// Removes all that is written down.
Status RemoveJournal(const DatasetPlace& place);

}  // namespace assay::shards
