// How a Gaussian error linear unit is computed.
#pragma once

namespace assay::engine {

/// The two forms of the Gaussian error linear unit (Hendrycks & Gimpel 2016).
enum class GeluForm {
  kErf,   ///< x Phi(x), exact to float32's rounding of erf (1.5e-7)
  kTanh,  ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

}  // namespace assay::engine
