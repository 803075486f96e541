#define ASSAY_ISA avx512
#include "engine/comm/kernels/reduction_unit.h"
