// The decoder of Llama and its descendants: pre-norm attention and SwiGLU blocks with rotary positions (Touvron et al.
// 2023, "LLaMA"). What each family has of its own stands in its file of src/architecture/families.
#pragma once

#include <memory>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/decoder_layer.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/parameter_source.h"
#include "engine/model/rope.h"
#include "engine/model/split_hooks.h"
#include "engine/model/unit_hooks.h"

namespace assay::engine {

SplitRules decoder_split_rules();

class Decoder : public CausalLM {
 public:
  /// Layers may have parts of their features, as decoder_split_rules() says (whole heads): set_split_hooks() must then
  /// add the parts up. A bias that `parameters` leaves undefined is none.
  Decoder(ModelConfig config, const ParameterSource& parameters);
  Decoder(const Decoder&) = delete;  // units() and linears() hand out pointers into it

  at::Tensor logits(const PackedBatch& batch) override;
  at::Tensor loss_sum(const PackedBatch& batch, double gradient) override;
  std::vector<NamedTensor> parameters() const override;
  std::vector<Linear*> linears() override;
  std::vector<Linear*> linears_and_head() override;
  const ModelConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t tokens, int64_t longest) const override;
  void set_checkpointed_layers(int64_t count) override { checkpointed_layers_ = count; }
  void set_training(bool on) override;

  /// "model.embed_tokens", "model.layers.0" and so on, and "lm_head" with the last norm. Adapters that are put on
  /// belong to their layers.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { hooks_.set(hooks); }
  SplitRules split_rules() const override { return decoder_split_rules(); }
  void set_split_hooks(SplitHooks* hooks) override { split_.set(hooks); }

 private:
  /// What a layer needs beside its input, and which run of it this is.
  struct LayerRun {
    const PackedBatch& batch;
    const RotaryTable& rotary;
    Output output = Output::kComputed;  ///< kUnset: backward runs it again
    KeptAttention* kept = nullptr;      ///< of a checkpointed layer: what the first run leaves for the second
  };

  int64_t unit_of_layer(size_t index) const { return static_cast<int64_t>(index) + 1; }
  int64_t last_unit() const { return unit_of_layer(layers_.size()); }
  const Linear& head() const { return config_.tie_word_embeddings ? embedding_ : untied_head_; }

  at::Tensor embed(const PackedBatch& batch) const;
  /// The state's sum, and its norm.
  NormedSum add_norm(const LayerState& state, const RmsNorm& norm) const;
  /// What the heads give, before the product that follows.
  at::Tensor attend(const DecoderLayer& layer, const Recomputable& x_TH, const LayerRun& run) const;
  LayerResult forward_layer(const DecoderLayer& layer, const LayerState& input, const LayerRun& run) const;

  /// forward_layer() between its hooks.
  LayerResult run_layer(size_t index, const LayerState& input, const LayerRun& run) const;
  LayerState checkpoint_layer(size_t index, const LayerState& input, const std::shared_ptr<const PackedBatch>& batch,
                              const RotaryTable& rotary) const;
  /// The state after the last layer, before the last norm.
  LayerState run_layers(const PackedBatch& batch);
  at::Tensor final_hidden(const PackedBatch& batch);

  ModelConfig config_;
  Linear embedding_;                  ///< a linear layer where the head is tied to it
  std::vector<DecoderLayer> layers_;  ///< never resized
  RmsNorm final_norm_{"model.norm", {}};
  Linear untied_head_{.path = "lm_head"};
  std::vector<ParameterUnit> units_;  ///< without adapters
  RotaryCache rotary_;
  HookedUnits hooks_;
  SplitProducts split_;
  int64_t checkpointed_layers_ = 0;
  bool training_ = true;
};

}  // namespace assay::engine
