// Reads checkpoints of torch.distributed.checkpoint, of any number of ranks.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

/// Names of the files that hold a folder's metadata: .metadata, or where every rank wrote its own
/// (use_collectives=False) __0.metadata and so on. NotFound where that of a rank is missing.
Result<std::vector<std::string>> MetadataNamesOf(const Place& place);
/// What is in them, together.
Result<DcpMetadata> ReadDcpMetadataOf(FileSet& files);

/// The leaves, tensors where their chunks lie and values read, with their paths. Every file that is named must be there
/// and long enough.
Result<std::vector<Leaf>> ReadDcpLeaves(const DcpMetadata& metadata, FileSet& files);

}  // namespace assay::checkpoint
