// The verbs of `assay data`: one file each, listed in the table of data.cc.
#pragma once

#include "cli/verb.h"

namespace assay::cli {

Action AddDataConvert(CLI::App& app);
Action AddDataSynthesize(CLI::App& app);
Action AddDataInspect(CLI::App& app);
Action AddDataVerify(CLI::App& app);
Action AddDataCount(CLI::App& app);
Action AddDataCat(CLI::App& app);
Action AddDataRead(CLI::App& app);
Action AddDataOrder(CLI::App& app);
Action AddDataBench(CLI::App& app);

}  // namespace assay::cli
