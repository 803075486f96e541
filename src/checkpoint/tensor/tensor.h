// Tensors as files hold them: their type, their shape, and where the bytes of their parts are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/box.h"
#include "checkpoint/tensor/data_source.h"
#include "checkpoint/tensor/dtype.h"

namespace assay::checkpoint {

class Value;

/// A range of a source that one tensor, or several that share memory, lie in. Those that do have the same Storage.
struct Storage {
  std::shared_ptr<const DataSource> source{};
  int64_t offset = 0;  ///< of the range in `source`
  int64_t bytes = 0;
};

/// A box of a tensor, and where its elements lie.
struct Block {
  Box box{};
  Sizes strides{};  ///< of the box's elements in the storage
  std::shared_ptr<const Storage> storage{};
  int64_t storage_offset = 0;  ///< elements from the storage's begin to the first of the box
};

/// A tensor without its bytes. Its blocks do not overlap and leave nothing out.
struct Tensor {
  DType dtype = DType::kFloat32;
  Sizes shape{};
  std::vector<Block> blocks{};
  bool requires_grad = false;
  bool is_parameter = false;  ///< an nn.Parameter around it
  /// Of quantised tensors: what torch.save says of scale and zero point. Else null.
  std::shared_ptr<const Value> quantizer{};
  /// The conjugate and negative bits, as torch.save names them; null without any.
  std::shared_ptr<const Value> bits{};

  int64_t elements() const { return Count(shape); }
  int64_t bytes() const { return BytesOf(dtype, elements()); }
};

/// A tensor whose elements lie in row-major order in `source`, from `offset` on.
Tensor ContiguousTensor(DType dtype, Sizes shape, std::shared_ptr<const DataSource> source, int64_t offset = 0);

/// The part of `tensor` in `box`, as a tensor of its own that lies where it lay. Not of packed dtypes, unless all of
/// it.
Tensor Narrow(const Tensor& tensor, const Box& box);

/// That every element of `tensor` has one place, within its storage; `name` is for the error.
Status CheckTensor(const Tensor& tensor, const std::string& name);

/// The elements of `box` in row-major order into `memory`, which has their size. Parts that lie near each other are
/// read together, and of the source only what the box needs.
Status ReadBox(const Tensor& tensor, const Box& box, storage::MutableBytes memory);

/// Bytes of a source from an offset on.
struct DataRange {
  std::shared_ptr<const DataSource> source{};
  int64_t offset = 0;
};

/// The bytes of the tensor in row-major order where they lie so: in the source of its only block, else in
/// RowMajorBytes().
DataRange RowMajorRange(const std::shared_ptr<const Tensor>& tensor);

/// The bytes of the tensor in row-major order, whatever its blocks and strides; View() gives those that lie so in
/// memory. Of a packed dtype (several elements in a byte) only one whole block that lies so can be read.
std::shared_ptr<const DataSource> RowMajorBytes(std::shared_ptr<const Tensor> tensor);

}  // namespace assay::checkpoint
