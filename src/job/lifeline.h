// How a worker knows that its controller holds the other end of its standard input.
#pragma once

namespace assay::job {

/// Set in the environment of a worker whose standard input is a pipe that ends with its controller.
inline constexpr char kLifelineVariable[] = "ASSAY_LIFELINE";

}  // namespace assay::job
