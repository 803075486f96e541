#include "engine/model/granite_hybrid_layer.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "engine/model/experts.h"
#include "engine/model/mamba_layer.h"
#include "engine/model/rotary_layer.h"

namespace assay::engine {
namespace {

/// The products of the MLP that every token goes through; gate and up are one.
struct SharedMlp {
  explicit SharedMlp(const std::string& path)
      : input_linear{.path = path + ".input_linear"}, output_linear{.path = path + ".output_linear"} {}

  std::vector<Linear*> linears() { return {&input_linear, &output_linear}; }

  at::Tensor forward(const Recomputable& x_TH, const LayerRun& run) const {
    const DropoutPlace place{run.batch.draw_keys_T};
    const auto halves = input_linear.forward(x_TH, Output::kComputed, place).chunk(2, 1);
    return output_linear.forward(recomputable_swiglu(halves[0].contiguous(), halves[1].contiguous()), run.output,
                                 place);
  }

  Linear input_linear, output_linear;
};

/// Before the layer's base class, which is told of its products.
struct SharedMlpHolder {
  explicit SharedMlpHolder(const std::string& path) : shared_mlp(path) {}
  SharedMlp shared_mlp;
};

/// `Mixer`: the layer but for its MLP.
template <typename Mixer>
class GraniteHybridLayer : private SharedMlpHolder, public Mixer {
 public:
  GraniteHybridLayer(const ModelConfig& config, const std::string& path)
      : SharedMlpHolder(path + ".shared_mlp"), Mixer(config, path, shared_mlp.linears()) {
    if (config.num_experts > 0) {
      experts_.emplace(config, path + ".block_sparse_moe");
      for (const auto& [name, place] : experts_->places()) {
        this->add_place(name, place);
      }
    }
  }

  LayerWidths widths() const override {
    LayerWidths widths = this->mixer_widths();
    widths.inner = shared_mlp.output_linear.weight_OI.size(1);
    widths.mlp_kept = 2 * widths.inner;
    if (experts_) {
      widths.mlp_kept += 2 * experts_->inner_width();
      widths.inner = std::max(widths.inner, experts_->inner_width());
      widths.mixed = experts_->output_width();
      std::tie(widths.expert_outputs, widths.expert_inputs) = experts_->largest_matrix();
    }
    return widths;
  }

 private:
  at::Tensor mlp(const Recomputable& x_TH, const LayerRun& run) const override {
    const at::Tensor shared_TH = shared_mlp.forward(x_TH, run);
    return experts_ ? experts_->forward(x_TH, /*part=*/0, run.output, run.balance) + shared_TH : shared_TH;
  }

  std::optional<Experts> experts_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_granite_hybrid_layer(const ModelConfig& config, const std::string& path,
                                                        int64_t index) {
  if (config.mamba_layers[static_cast<size_t>(index)]) {
    return std::make_unique<GraniteHybridLayer<MambaLayer>>(config, path);
  }
  return std::make_unique<GraniteHybridLayer<RotaryLayer>>(config, path);
}

}  // namespace assay::engine
