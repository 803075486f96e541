// The verbs of `assay checkpoint`: one file each, listed in the table of checkpoint.cc.
#pragma once

#include "cli/verb.h"

namespace assay::cli {

Action AddCheckpointLs(CLI::App& app);
Action AddCheckpointInspect(CLI::App& app);
Action AddCheckpointVerify(CLI::App& app);
Action AddCheckpointConvert(CLI::App& app);
Action AddCheckpointDiff(CLI::App& app);
Action AddCheckpointMerge(CLI::App& app);
Action AddCheckpointRm(CLI::App& app);

}  // namespace assay::cli
