// Types of tensor elements, libtorch's and those of files.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "checkpoint/tensor/dtype.h"

namespace assay::engine {

/// Throws StatusError for one that files of weights have no name for.
checkpoint::DType element_type_of(at::ScalarType type);
/// Nothing for one that is no type of plain tensors.
std::optional<at::ScalarType> scalar_type_of(checkpoint::DType type);

}  // namespace assay::engine
