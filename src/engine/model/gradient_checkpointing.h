// Gradient checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost") for decoder layers.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace assay::engine {

/// What flows between decoder layers: the residual stream and the last block's output, not yet added to it, so that the
/// next norm adds and normalises in one pass. The block is undefined before the first layer.
struct LayerState {
  at::Tensor residual_TH;
  at::Tensor block_TH;
};

struct LayerResult {
  LayerState state;  ///< when the layer runs again, only its place in the graph counts: the block may be unset memory
  /// The sum that the layer started from. Called on {entry_TH, zeros}, the layer computes the same bits as on its
  /// input.
  at::Tensor entry_TH;
};

using LayerFunction = std::function<LayerResult(const LayerState& input)>;

/// Runs `layer` and keeps of it only its entry sum (and what `layer` itself keeps); backward runs it again: it must not
/// draw from a generator that has moved on (dropout_mask() does not). Gradients of the input and of whatever `layer`
/// holds are those of layer(input), to the bit. `layer` is kept until the graph is freed. Call it only when the input
/// or something in the layer requires grad.
LayerState checkpointed(LayerFunction layer, const LayerState& input);

}  // namespace assay::engine
