// Which layers of a model are built.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Consecutive layers. The embeddings go with the first of all layers, the last norm and the head with the last.
struct ModelPart {
  int64_t first_layer = 0;
  int64_t layers = -1;  ///< -1: all that follow
};

}  // namespace assay::engine
