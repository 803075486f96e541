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
#include "engine/model/unit_hooks.h"

namespace assay::engine {

class Decoder : public CausalLM {
 public:
  Decoder(ModelConfig config, const ParameterSource& parameters);
  Decoder(const Decoder&) = delete;  // units() and linears() hand out pointers into it

  at::Tensor hidden(const PackedBatch& batch) override;
  at::Tensor logits(const PackedBatch& batch) override;
  at::Tensor loss_sum(const PackedBatch& batch, double gradient) override;
  std::vector<NamedTensor> parameters() const override;
  std::vector<Linear*> linears() override;
  const ModelConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t tokens) const override;
  void set_checkpointed_layers(int64_t count) override { checkpointed_layers_ = count; }
  void pack_frozen_weights() override;
  int64_t packed_bytes() const override;
  void set_training(bool on) override;

  /// "model.embed_tokens", "model.layers.0" and so on, and "lm_head" with the last norm. Adapters that are put on
  /// belong to their layers.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { hooks_.set(hooks); }

 private:
  int64_t unit_of_layer(size_t index) const { return static_cast<int64_t>(index) + 1; }
  int64_t last_unit() const { return unit_of_layer(layers_.size()); }
  at::Tensor embed(const PackedBatch& batch) const;
  /// The state after the last layer, before the last norm.
  LayerState run_layers(const PackedBatch& batch);
  at::Tensor final_norm(const LayerState& state) const;
  LayerState checkpoint_layer(size_t index, const LayerState& input, const std::shared_ptr<const PackedBatch>& batch,
                              const RotaryTable& rotary) const;
  /// `again` and `kept` are of a checkpointed layer: whether backward runs it again, and what it left for that.
  LayerResult forward_layer(size_t index, const LayerState& input, const PackedBatch& batch, const RotaryTable& rotary,
                            bool again = false, KeptAttention* kept = nullptr) const;
  at::Tensor attend(const DecoderLayer& layer, const at::Tensor& normed_TH, const RecomputePtr& normed_again,
                    const PackedBatch& batch, const RotaryTable& rotary, KeptAttention* kept) const;
  const at::Tensor& head_VH() const { return config_.tie_word_embeddings ? embedding_VH_ : head_VH_; }

  ModelConfig config_;
  at::Tensor embedding_VH_;
  std::vector<DecoderLayer> layers_;  ///< never resized
  at::Tensor final_norm_H_;
  at::Tensor head_VH_;                ///< undefined when tied
  std::vector<ParameterUnit> units_;  ///< without adapters
  PackedWeightPtr packed_head_;
  RotaryCache rotary_;
  HookedUnits hooks_;
  int64_t checkpointed_layers_ = 0;
  bool training_ = true;
};

}  // namespace assay::engine
