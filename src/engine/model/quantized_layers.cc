#include "engine/model/quantized_layers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "architecture/parameters.h"
#include "engine/model/mapped_pages.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr std::string_view kWeight = ".weight";

std::string_view path_of(std::string_view weight) {
  return weight.substr(0, weight.size() - kWeight.size());
}

/// What the decoder gets in the place of a quantised weight: its sizes and dtype, in no memory.
at::Tensor shape_alone(const std::vector<int64_t>& shape, const at::TensorOptions& options) {
  return at::empty({1}, options).expand(shape);
}

}  // namespace

QuantizedLayers::QuantizedLayers(const ModelConfig& config, const Quantization& at_load, Weights* weights,
                                 at::ScalarType dtype, at::Device device)
    : scheme_(config.quantization.bits > 0 ? config.quantization : at_load),
      is_of_file_(config.quantization.bits > 0),
      weights_(weights),
      dtype_(dtype),
      device_(device) {
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    for (const ParameterSpec& spec : architecture::LayerParameters(config, layer)) {
      parameters_.insert(spec.name);
    }
  }
  if (is_read() && std::ranges::none_of(parameters_, [this](const std::string& name) {
        return name.ends_with(kWeight) && is_stored(path_of(name));
      })) {
    throw_invalid_argument(
        fmt::format("{}: config.json says that weights are quantised to {} bits, but none is there: remove its "
                    "quantization_config",
                    weights_->source(), scheme_.bits));
  }
}

ParameterSource QuantizedLayers::around(ParameterSource source) {
  if (scheme_.bits == 0) {
    return source;
  }
  return [this, source = std::move(source)](const ParameterSpec& spec) {
    // All matrices of a layer are products.
    if (spec.shape.size() != 2 || !parameters_.contains(spec.name)) {
      return source(spec);
    }
    const std::string path(path_of(spec.name));
    if (is_read() && !is_stored(path)) {
      return source(spec);  // the checkpoint leaves it as it was
    }
    check_fills_words(path, spec.shape);
    QuantizedTensors tensors;
    if (is_read()) {
      tensors = stored(path, spec.shape);
    } else {
      const at::Tensor weight_OI = source(spec);
      tensors = round_to_nearest(weight_OI, scheme_.bits, scheme_.group_size);
      if (device_.is_cpu()) {
        release_mapped_pages(weight_OI);
      }
    }
    by_path_[path] = c10::make_intrusive<QuantizedWeight>(std::move(tensors), dtype_);
    return shape_alone(spec.shape, at::TensorOptions(dtype_).device(device_));
  };
}

int64_t count_quantized(CausalLM& model) {
  return std::ranges::count_if(model.linears(), [](const Linear* linear) {
    return dynamic_cast<const QuantizedWeight*>(linear->frozen.get()) != nullptr;
  });
}

void QuantizedLayers::put_on(CausalLM& model) const {
  for (Linear* linear : model.linears()) {
    if (const auto found = by_path_.find(linear->path); found != by_path_.end()) {
      linear->frozen = found->second;
    }
  }
}

bool QuantizedLayers::is_stored(std::string_view path) const {
  return weights_->has(std::string(path) + ".qweight");
}

void QuantizedLayers::check_fills_words(const std::string& path, const std::vector<int64_t>& shape) const {
  if (!fills_words(shape[1])) {
    throw_invalid_argument(fmt::format(
        "layer '{}' has {} inputs and {} outputs: weights can be quantised only where inputs are multiples of 32", path,
        shape[1], shape[0]));
  }
  if (is_read() && shape[0] * scheme_.bits % kWordBits != 0) {
    throw_invalid_argument(
        fmt::format("layer '{}' has {} outputs: a file cannot hold their zeros of {} bits, which fill no words of {}",
                    path, shape[0], scheme_.bits, kWordBits));
  }
}

int64_t QuantizedLayers::groups_of(int64_t inputs) const {
  return scheme_.group_size < 0 ? 1 : (inputs + scheme_.group_size - 1) / scheme_.group_size;
}

at::Tensor QuantizedLayers::empty_scales(const ParameterSpec& spec) const {
  // Quantisers write float16, and some of them bfloat16 or float32, of which float16 has not all values.
  return at::empty(spec.shape, at::TensorOptions(weights_->claim(spec).dtype).device(device_));
}

QuantizedTensors QuantizedLayers::stored_shape(const ParameterSpec& scales, const std::vector<int64_t>& shape) const {
  const auto options = at::TensorOptions().device(device_);
  return {.words_WO = at::empty({shape[1] * scheme_.bits / 32, shape[0]}, options.dtype(at::kInt)),
          .scales_GO = empty_scales(scales),
          .zeros_GO = at::empty(scales.shape, options.dtype(at::kByte)),
          .group_of_I = at::empty({shape[1]}, options.dtype(at::kInt)),
          .bits = scheme_.bits};
}

QuantizedTensors QuantizedLayers::stored(const std::string& path, const std::vector<int64_t>& shape) {
  const int64_t groups = groups_of(shape[1]);
  const ParameterSpec scales{path + ".scales", {groups, shape[0]}};
  if (device_.is_meta()) {
    return stored_shape(scales, shape);
  }
  QuantizedTensors tensors;
  tensors.bits = scheme_.bits;
  tensors.words_WO = weights_->take_integers({path + ".qweight", {shape[1] * scheme_.bits / 32, shape[0]}}).to(device_);
  tensors.scales_GO = empty_scales(scales);
  weights_->read(scales, tensors.scales_GO);
  tensors.zeros_GO = stored_zeros(path, groups, shape[0]).to(device_);
  tensors.group_of_I = stored_groups(path, groups, shape[1]).to(device_);
  pass_over_absent_bias(path);
  return tensors;
}

at::Tensor QuantizedLayers::stored_zeros(const std::string& path, int64_t groups, int64_t outputs) {
  const at::Tensor words_GW = weights_->take_integers({path + ".qzeros", {groups, outputs * scheme_.bits / 32}});
  at::Tensor zeros_GO = unpack_values(words_GW.t().contiguous(), scheme_.bits).t().contiguous();
  if (!scheme_.stores_zeros_as_they_are) {
    zeros_GO.add_(1).bitwise_and_((int64_t{1} << scheme_.bits) - 1);
  }
  return zeros_GO;
}

at::Tensor QuantizedLayers::stored_groups(const std::string& path, int64_t groups, int64_t inputs) {
  const std::string name = path + ".g_idx";
  if (!weights_->has(name) && scheme_.in_any_order && groups > 1) {
    throw_invalid_argument(
        fmt::format("{}: tensor '{}' is missing: desc_act in config.json says that inputs are in any order",
                    weights_->source(), name));
  }
  if (!weights_->has(name)) {
    const int64_t of_group = scheme_.group_size < 0 ? inputs : scheme_.group_size;
    return at::arange(inputs, at::kInt).floor_divide_(of_group);
  }
  at::Tensor group_of_I = weights_->take_integers({name, {inputs}});
  const auto least = group_of_I.min().item<int32_t>();
  const auto most = group_of_I.max().item<int32_t>();
  if (least < 0 || most >= groups) {
    throw_invalid_argument(
        fmt::format("{}: tensor '{}' names group {}, but {} inputs in groups of {} have groups 0 to {}",
                    weights_->source(), name, least < 0 ? least : most, inputs, scheme_.group_size, groups - 1));
  }
  return group_of_I;
}

/// Quantisers write a bias of zeros for layers that have none.
void QuantizedLayers::pass_over_absent_bias(const std::string& path) {
  const std::string name = path + ".bias";
  if (parameters_.contains(name) || !weights_->has(name)) {
    return;
  }
  const at::Tensor bias_O = weights_->take({name, weights_->entry_of(name).shape}, at::kFloat, device_);
  if (bias_O.any().item<bool>()) {
    throw_invalid_argument(fmt::format("{}: tensor '{}' is not zero, but the model in config.json has no such bias",
                                       weights_->source(), name));
  }
}

}  // namespace assay::engine
