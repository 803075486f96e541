// Measurements of schema 1, which kept parameters only as part of an id and did not say what they depend on.
#pragma once

#include "samplestore/measurement.h"

namespace assay::samplestore {

/// Fills in `parameters` and `depends_on`. What the provenance does not prove is made to hold nowhere.
void UpgradeFromSchema1(Measurement& measurement);

}  // namespace assay::samplestore
