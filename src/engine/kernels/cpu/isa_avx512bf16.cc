#define ASSAY_ISA avx512bf16
#include "engine/kernels/cpu/isa_unit.h"
