#define ASSAY_ISA avx512
#include "engine/kernels/cpu/isa_unit.h"
