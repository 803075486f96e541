#define ASSAY_ISA avx2
#include "engine/comm/kernels/reduction_unit.h"
