// The verbs of `assay object`: one file each, listed in the table of object.cc.
#pragma once

#include "cli/verb.h"

namespace assay::cli {

Action AddObjectServe(CLI::App& app);

}  // namespace assay::cli
