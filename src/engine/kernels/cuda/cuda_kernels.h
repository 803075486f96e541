// Launches of our CUDA kernels. Free of CUDA's and of libtorch's headers, so that both sides compile quickly.
//
// A launch is asynchronous on `stream`, of the current device; check_launches() tells whether it was accepted. Results
// are the same bits for the same input on every run.
#pragma once

#include "engine/kernels/cuda/tasks.h"
#include "engine/kernels/dropout_mask.h"

struct CUstream_st;

namespace assay::engine::cuda {

using Stream = CUstream_st*;  ///< cudaStream_t

enum class Dtype { kFloat32, kBfloat16, kFloat16 };

/// Throws std::runtime_error when a launch since the last call was refused. Does not wait for any.
void check_launches();

/// What the `void*` of a task are. Rows and counts may be 0.
void launch(const NormForward& task, Dtype dtype, Stream stream);
/// `task.parts` blocks share the rows when the gradient of the weight is wanted.
void launch(const NormBackward& task, Dtype dtype, Stream stream);
/// `residual`: of x, either `dtype` or float32. With `grad_affine` wanted, `task.parts` blocks share the rows.
void launch(const LayerNormForward& task, Dtype dtype, Dtype residual, Stream stream);
void launch(const LayerNormBackward& task, Dtype dtype, Dtype residual, Stream stream);
void launch(const GeluForward& task, Dtype dtype, Stream stream);
void launch(const GeluBackward& task, Dtype dtype, Stream stream);
void launch(const SwigluForward& task, Dtype dtype, Stream stream);
void launch(const SwigluBackward& task, Dtype dtype, Stream stream);
void launch(const AddScaled& task, Dtype dtype, Stream stream);
void launch(const Rotate& task, Dtype dtype, Stream stream);
void launch(const CrossEntropy& task, Dtype dtype, Stream stream);
void launch(const Split& task, Dtype dtype, Stream stream);
void launch(const AddMasked& task, Dtype dtype, Stream stream);
void launch(const Dequantize& task, Dtype dtype, Stream stream);
void launch(const EmbeddingSums& task, Dtype dtype, Stream stream);
void launch(const DropoutMaskTask& task, Stream stream);

/// Dtypes of an update with adamw: one of AdamwTensors' rows, whose T `copy` is, also where there is none.
struct AdamwDtypes {
  Dtype parameter;
  Dtype gradient;
  Dtype states;
  Dtype copy;

  bool operator==(const AdamwDtypes& other) const {
    return parameter == other.parameter && gradient == other.gradient && states == other.states && copy == other.copy;
  }
};

/// One block for each stretch: blocks_of() of them.
void launch_adamw(const TensorList& list, const UpdateScalars& scalars, const AdamwDtypes& dtypes, Stream stream);
void launch_sgd(const TensorList& list, const UpdateScalars& scalars, Dtype dtype, Stream stream);
/// Two numbers for each block: the sum of squares of the gradient in its stretch, and how many are not finite.
void launch_gradient_sums(const TensorList& list, double* sums, Dtype dtype, Stream stream);

inline int blocks_of(const TensorList& list) {
  return list.first_block[list.size];
}

}  // namespace assay::engine::cuda
