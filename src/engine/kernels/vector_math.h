// What libtorch's element-wise functions need before several threads call them.
#pragma once

namespace assay::engine {

/// Makes the first calls of oneMKL's vector functions, once a process, each on one element.
///
/// libtorch computes cos, exp, log, sin and sqrt of float tensors by them, from all its threads. oneMKL 2024, which its
/// wheels hold, chooses a function's kernel in the function's first call; threads that make it at once may run one of
/// low accuracy (VML_EP on AVX2, 1.5e-4 off) for that call (pytorch/pytorch#188792). A table of rotary positions made
/// by such a call is wrong for the whole run. From any thread.
void settle_vector_math();

}  // namespace assay::engine
