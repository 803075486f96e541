// A checkpoint as it is, at another place.
#pragma once

#include "base/status.h"
#include "checkpoint/find.h"
#include "checkpoint/manifest/manifest.h"
#include "checkpoint/place.h"
#include "checkpoint/save.h"

namespace assay::checkpoint {

/// Copies the files of a save of ours, the file that makes it valid last, as CommitSave() publishes a save: it keeps
/// its id, its names and its checksums, and every byte is checked on the way. Step and metrics are the source's. What
/// an earlier copy that was killed left under its names is replaced; with `overwrite` also a checkpoint that stands
/// there and is not whole, of which every byte is read to know: it is removed first. A whole one with the same names
/// stays, FailedPrecondition. Unsupported for what no save of ours wrote.
Result<Manifest> CopyCheckpoint(const Found& from, const Place& to, const SaveOptions& options);

}  // namespace assay::checkpoint
