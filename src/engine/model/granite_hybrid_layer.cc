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
      : SharedMlpHolder(path + ".shared_mlp"),
        Mixer(config, path, shared_mlp.linears()),
        experts_path_(path + ".block_sparse_moe") {
    if (config.num_experts > 0) {
      experts_.emplace(config, experts_path_);
      for (const auto& [name, place] : experts_->places()) {
        this->add_place(name, place);
      }
      this->add_stacks(experts_->stacks());
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
    const int64_t tokens = run.batch.tokens();
    const std::string& path = shared_mlp.input_linear.path;
    // Tensor ranks compute all of it, each, and divide the experts.
    const at::Tensor all_TH = shared_mlp.forward(run.split.join_tokens(x_TH, tokens, path), run);
    const at::Tensor shared_TH = run.split.split_tokens(all_TH, path);
    if (!experts_) {
      return shared_TH;
    }
    const Recomputable entered_TH = run.split.enter(x_TH, tokens, experts_path_);
    const at::Tensor part_TH = experts_->forward(entered_TH, run.split.part(), run.output, run.balance);
    return run.split.sum(part_TH, tokens, experts_path_, run.output) + shared_TH;
  }

  std::string experts_path_;
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
