#define ASSAY_ISA portable
#include "engine/comm/kernels/reduction_unit.h"
