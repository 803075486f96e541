// Makes the shards that stand a version of the data set.
#pragma once

#include <vector>

#include "base/status.h"
#include "shards/convert/journal.h"
#include "shards/dataset/dataset.h"
#include "storage/transfers.h"

namespace assay::shards {

/// Writes the index that other readers see, the version's own, its table of samples, and last the manifest. `base` is
/// the version that it goes on from, or null. `tokenizer_hash`: of what made the tokens of samples; empty: they have
/// none.
Result<Manifest> PublishVersion(const DatasetPlace& place, storage::Transfers& transfers, const Dataset* base,
                                const std::vector<WrittenShard>& shards, const std::string& tokenizer_hash);

}  // namespace assay::shards
