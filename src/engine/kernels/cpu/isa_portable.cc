#define ASSAY_ISA portable
#include "engine/kernels/cpu/isa_unit.h"
