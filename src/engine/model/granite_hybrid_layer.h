// The layers of Granite 4.0: attention or Mamba-2, and an MLP that every token goes through, with a mixture of experts
// beside it in some models.
#pragma once

#include <memory>
#include <string>

#include "engine/model/decoder_layer.h"

namespace assay::engine {

/// Layer `index` of such a model.
std::unique_ptr<DecoderLayer> make_granite_hybrid_layer(const ModelConfig& config, const std::string& path,
                                                        int64_t index);

}  // namespace assay::engine
