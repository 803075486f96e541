#define ASSAY_ISA avx2
#include "engine/kernels/cpu/isa_unit.h"
