// The verbs of `assay object`: one file each, listed in the table of object.cc.
#pragma once

#include "cli/verb.h"

namespace assay::cli {

Action AddObjectLs(CLI::App& app);
Action AddObjectStat(CLI::App& app);
Action AddObjectGet(CLI::App& app);
Action AddObjectPut(CLI::App& app);
Action AddObjectCp(CLI::App& app);
Action AddObjectSync(CLI::App& app);
Action AddObjectDu(CLI::App& app);
Action AddObjectMb(CLI::App& app);
Action AddObjectRb(CLI::App& app);
Action AddObjectRm(CLI::App& app);
Action AddObjectCat(CLI::App& app);
Action AddObjectPresign(CLI::App& app);
Action AddObjectUploads(CLI::App& app);
Action AddObjectVerify(CLI::App& app);
Action AddObjectBench(CLI::App& app);
Action AddObjectServe(CLI::App& app);

}  // namespace assay::cli
