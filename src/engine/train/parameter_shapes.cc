#include "engine/train/parameter_shapes.h"

#include <ATen/ops/empty.h>

#include <functional>
#include <numeric>
#include <utility>

#include "engine/kernels/shape_memory.h"
#include "engine/model/load.h"
#include "engine/model/tensor_split.h"
#include "engine/train/machine_parameters.h"

namespace assay::engine {
namespace {

at::Tensor shared_stretch(size_t bytes) {
  const UncountedShapes uncounted;  // the ranks of a machine share it
  return at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(at::kMeta));
}

int64_t bytes_of(const std::vector<SharedMemory>& shared) {
  return std::transform_reduce(shared.begin(), shared.end(), int64_t{0}, std::plus<>(),
                               [](const SharedMemory& memory) { return memory.bytes(); });
}

}  // namespace

SharedMemory::SharedMemory(const at::Tensor& bytes)
    : bytes_(bytes.numel()), storage_(bytes.storage().getWeakStorageImpl()) {}

int64_t MappedShapes::bytes() const {
  return bytes_of(files) + bytes_of(made);
}

int64_t MappedShapes::machine_bytes(int64_t groups) const {
  return bytes_of(files) + (bytes_of(made) > 0 ? groups * all_made_bytes : 0);
}

ParameterShapes::ParameterShapes(const std::string& model_dir, at::ScalarType dtype, const TensorPlace& place,
                                 bool are_shared)
    : maker_(parameter_maker(model_dir, dtype, at::kCPU, /*seed=*/0, place)) {
  if (are_shared) {
    const SharedLayout layout(maker_.not_in_place(), maker_.options());
    all_made_bytes_ = static_cast<int64_t>(layout.bytes);
    for (const SharedParameter& parameter : layout.parameters) {
      made_.emplace(parameter.spec.name, Made{shared_stretch(parameter.part_bytes), parameter.part_shape});
    }
  }
}

at::Tensor ParameterShapes::operator()(const ParameterSpec& spec) {
  const ParameterOptions& options = maker_.options();
  if (const auto made = made_.find(spec.name); made != made_.end()) {
    return part_of(made->second.bytes, 0, made->second.shape);
  }
  const Weights* weights = maker_.weights();
  if (weights != nullptr && weights->in_place(spec, options.dtype, at::kCPU)) {
    const SafetensorsFile& file = weights->file_of(spec.name);
    const at::Tensor whole = part_of(pages_of(file), weights->entry_of(spec.name).begin, spec.shape);
    return cut_for_rank(options.rules, spec.name, whole, options.place, /*in_place=*/true);
  }
  const at::Tensor whole = at::empty(spec.shape, at::TensorOptions(options.dtype).device(at::kMeta));
  return cut_for_rank(options.rules, spec.name, whole, options.place);
}

MappedShapes ParameterShapes::finish() {
  MappedShapes mapped{.files = {}, .made = {}, .all_made_bytes = all_made_bytes_};
  for (const auto& [file, bytes] : std::exchange(pages_, {})) {
    mapped.files.emplace_back(bytes);
  }
  for (const auto& [name, made] : std::exchange(made_, {})) {
    mapped.made.emplace_back(made.bytes);
  }
  return mapped;
}

at::Tensor ParameterShapes::part_of(const at::Tensor& bytes, size_t begin, const std::vector<int64_t>& shape) const {
  const at::ScalarType dtype = maker_.options().dtype;
  const int64_t size = c10::multiply_integers(shape) * static_cast<int64_t>(c10::elementSize(dtype));
  return bytes.narrow(0, static_cast<int64_t>(begin), size).view(dtype).view(shape);
}

const at::Tensor& ParameterShapes::pages_of(const SafetensorsFile& file) {
  at::Tensor& pages = pages_[&file];
  if (!pages.defined()) {
    pages = shared_stretch(static_cast<size_t>(file.bytes()));
  }
  return pages;
}

}  // namespace assay::engine
