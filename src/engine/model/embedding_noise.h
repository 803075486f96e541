// Noise on the embeddings of a model that trains.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/packed_batch.h"

namespace assay::engine {

/// x plus `multiplier` times noise from the uniform distribution over [-b, b), b = alpha / sqrt(L * H) of a row of L
/// tokens, its prompt not among them (Jain et al. 2023, "NEFTune: Noisy Embeddings Improve Instruction Finetuning"); x
/// itself where alpha is 0. The noise of a row follows from its key (PackedBatch::row_keys) alone: it is the same in
/// any batch and on any rank. L is the row's own length, as in the authors' program, where transformers has that of the
/// longest row of the batch.
at::Tensor add_noise(const at::Tensor& x_TH, const PackedBatch& batch, double alpha, double multiplier);

}  // namespace assay::engine
