// Everything that one instruction set's unit holds: include after defining ASSAY_ISA.
#pragma once

#include "engine/kernels/cpu/attention_backward_kernels.h"
#include "engine/kernels/cpu/attention_kernels.h"
#include "engine/kernels/cpu/block_product.h"
#include "engine/kernels/cpu/dropout_kernels.h"
#include "engine/kernels/cpu/elementwise_kernels.h"
#include "engine/kernels/cpu/gelu_kernels.h"
#include "engine/kernels/cpu/layer_norm_kernels.h"
#include "engine/kernels/cpu/loss_kernels.h"
#include "engine/kernels/cpu/low_rank_kernels.h"
#include "engine/kernels/cpu/optimizer_kernels.h"

#define ASSAY_STRINGIZE(x) #x
#define ASSAY_NAME_OF(x) ASSAY_STRINGIZE(x)

namespace assay::engine::ASSAY_ISA {

template <typename T>
constexpr TypedKernels kTyped = {
    .norm_forward = norm_forward<T>,
    .norm_backward = norm_backward<T>,
    .layer_norm_forward = layer_norm_forward<T, T>,
    .layer_norm_backward = layer_norm_backward<T, T>,
    .layer_norm_forward_wide = layer_norm_forward<T, float>,
    .layer_norm_backward_wide = layer_norm_backward<T, float>,
    .gelu_forward = gelu_forward<T>,
    .gelu_backward = gelu_backward<T>,
    .swiglu_forward = swiglu_forward<T>,
    .swiglu_backward = swiglu_backward<T>,
    .add_scaled = add_scaled<T>,
    .gather_rows = gather_rows<T>,
    .sum_rows = sum_rows<T>,
    .cross_entropy_row = cross_entropy_row<T>,
    .adamw = adamw<T, T, T, T>,
    .adamw_wide_states = adamw<T, T, float, T>,
    .adamw_wide_gradient = adamw<T, float, T, T>,
    .adamw_master = adamw<float, T, float, T>,
    .adamw_master_wide_gradient = adamw<float, float, float, T>,
    .sgd = sgd<T>,
    .gradient_sums = gradient_sums<T>,
    .column_sums = column_sums<T>,
    .to_float32 = to_float32<T>,
    .from_float32 = from_float32<T>,
    .project_down = project_down<T>,
    .project_up = project_up<T>,
    .outer_sum = outer_sum<T>,
    .attention_forward = attention_forward<T>,
    .attention_backward = attention_backward<T>,
};

extern const CpuKernels kKernels;
const CpuKernels kKernels = {
    ASSAY_NAME_OF(ASSAY_ISA), {kTyped<float>, kTyped<Bf16>, kTyped<Half>}, float32_product, dropout_mask};

}  // namespace assay::engine::ASSAY_ISA
