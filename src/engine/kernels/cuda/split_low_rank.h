// The thin products of a float32 low-rank update beside bfloat16 activations, on tensor cores. Private to
// engine/kernels.
//
// A bfloat16 holds 8 bits of a float32's 24, so a float32 matrix is the sum of three bfloat16 ones. A product of a
// bfloat16 matrix with those three side by side, summed in float32, is as exact as one in float32, and nothing is
// widened but the thin side (Ootomo & Yokota 2022, "Recovering single precision accuracy from Tensor Cores").
// See low_rank.h for what the functions compute.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/low_rank.h"

namespace assay::engine::cuda {

/// Whether these functions apply: a bfloat16 tall side, a float32 thin side, kernels of ours for both.
bool splits(const at::Tensor& tall, const at::Tensor& thin);

at::Tensor split_project_down(const CudaOps& ops, const Dropped& x, const at::Tensor& a_rI, double scale);
/// To 16 bits of the update, which is then rounded to the 8 of y.
void split_project_up(const CudaOps& ops, const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale,
                      const Dropped& y);
at::Tensor split_outer_sum(const CudaOps& ops, const at::Tensor& low_Tr, const Dropped& x, double scale);

}  // namespace assay::engine::cuda
