// The verbs of `assay model`: one file each, listed in the table of model.cc.
#pragma once

#include "cli/verb.h"

namespace assay::cli {

Action AddModelList(CLI::App& app);
Action AddModelPull(CLI::App& app);

}  // namespace assay::cli
