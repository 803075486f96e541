// The parameters of a model as a rank would have them, without their numbers.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/parameter_maker.h"
#include "engine/model/safetensors.h"

namespace assay::engine {

/// Memory that ranks share, taken as long as any tensor in it is there.
class SharedMemory {
 public:
  /// Of the storage of `bytes`, which it does not keep.
  explicit SharedMemory(const at::Tensor& bytes);

  int64_t bytes() const { return storage_.expired() ? 0 : bytes_; }

 private:
  int64_t bytes_;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
};

/// All that a rank has mapped.
struct MappedShapes {
  std::vector<SharedMemory> files;
  std::vector<SharedMemory> made;
  int64_t all_made_bytes = 0;  ///< on the machine, while a rank holds any of it

  int64_t bytes() const;
  /// On a machine where so many groups of ranks each make what no file holds.
  int64_t machine_bytes(int64_t groups) const;
};

/// Makes what a rank has of parameters, without their numbers (kernels/shape_memory.h). Where the file has one as the
/// training wants it, it is a part of that; the others are a part of what the ranks of a machine make together
/// (train/machine_parameters.h), if they do.
class ParameterShapes {
 public:
  /// Throws StatusError.
  ParameterShapes(const std::string& model_dir, at::ScalarType dtype, const TensorPlace& place, bool are_shared);

  /// Undefined: the rank has nothing of it.
  at::Tensor operator()(const ParameterSpec& spec);

  /// Null: the folder has none.
  Weights* weights() { return maker_.weights(); }

  /// Lets go of all that the parameters do not hold.
  MappedShapes finish();

 private:
  struct Made {
    at::Tensor bytes;
    std::vector<int64_t> shape;
  };

  at::Tensor part_of(const at::Tensor& bytes, size_t begin, const std::vector<int64_t>& shape) const;
  const at::Tensor& pages_of(const SafetensorsFile& file);

  ParameterMaker maker_;
  std::map<const SafetensorsFile*, at::Tensor> pages_;
  std::map<std::string, Made, std::less<>> made_;
  int64_t all_made_bytes_ = 0;
};

}  // namespace assay::engine
