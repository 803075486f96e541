// Where checkpoints are: URIs as places.
#pragma once

#include <string>

#include "base/status.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"
#include "cli/object_options.h"

namespace assay::cli {

/// The place that `uri` names: an object where there is one of that key, else the folder.
Result<checkpoint::Place> OpenCheckpointPlace(const StoreFlags& store, const std::string& uri,
                                              storage::CancelFlag cancel);
/// Where a checkpoint of that format is to be written: a folder of a DCP; of safetensors unless the name ends so; of
/// the others where a folder stands or is meant, by '/' at the end.
Result<checkpoint::Place> OpenCheckpointTarget(const StoreFlags& store, const std::string& uri,
                                               checkpoint::Format format, storage::CancelFlag cancel);

}  // namespace assay::cli
