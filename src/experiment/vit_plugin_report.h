// What a report of the ViT plugin benchmark has beside what every report has: tables of the parts of memory and time,
// and what was published of the benchmark.
#pragma once

#include "experiment/presentation.h"

namespace assay::experiment {

ReportSections VitPluginReport();

}  // namespace assay::experiment
