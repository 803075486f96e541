// Decoders: embeddings, layers of one network (decoder_layer.h) on a residual stream, a last norm and a head.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/decoder_layer.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/model_part.h"
#include "engine/model/norm.h"
#include "engine/model/parameter_source.h"
#include "engine/model/rope.h"
#include "engine/model/split_hooks.h"
#include "engine/model/unit_hooks.h"

namespace assay::engine {

SplitRules decoder_split_rules();

class Decoder : public CausalLM {
 public:
  /// Layers may have parts of their features, as decoder_split_rules() says (whole heads): set_split_hooks() must then
  /// add the parts up. A bias that `parameters` leaves undefined is none. `part`: what is built of the model; where it
  /// ends it with a head that is tied to the embeddings, these too.
  Decoder(ModelConfig config, const ParameterSource& parameters, ModelPart part = {});
  Decoder(const Decoder&) = delete;  // units() and linears() hand out pointers into it

  at::Tensor logits(const PackedBatch& batch) override;
  at::Tensor next_logits(const PackedBatch& batch, DecodingCache* cache) override;
  at::Tensor forward(const PackedBatch& batch, const at::Tensor& input_TH, double gradient) override;
  bool begins_model() const override { return first_layer_ == 0; }
  bool ends_model() const override { return first_layer_ + num_layers() == config_.num_layers; }
  int64_t first_layer() const override { return first_layer_; }
  at::ScalarType residual_dtype() const override {
    return c10::typeMetaToScalarType(layers_.front()->options().dtype());
  }
  std::vector<NamedTensor> parameters() const override;
  at::Tensor& prompt_PH() override { return prompt_PH_; }
  std::vector<Linear*> linears() override;
  std::vector<ExpertStack*> expert_stacks() override;
  std::vector<Linear*> linears_and_head() override;
  const ModelConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t tokens, int64_t longest) const override;
  void set_checkpointed_layers(int64_t count) override;
  void set_training(bool on) override;
  void set_regularisation(const Regularisation& regularisation) override { regularisation_ = regularisation; }

  /// Of the embeddings, "model.layers.0" and so on, and "lm_head" with the last norm, those that are here.
  /// Adapters that are put on belong to their layers.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { hooks_.set(hooks); }
  SplitRules split_rules() const override { return decoder_split_rules(); }
  void set_split_hooks(SplitHooks* hooks) override { split_.set(hooks); }

 private:
  /// What is the same for all layers. Held by value: a longer batch may replace the cache's table before backward runs.
  struct Pass {
    PackedBatch batch;
    RotaryTable rotary;
    std::shared_ptr<RouterBalance> balance = {};
    DecodingCache* cache = nullptr;  ///< null: whole rows
  };

  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  bool has_embedding() const { return embedding_.weight_OI.defined(); }
  int64_t unit_of_layer(size_t index) const { return static_cast<int64_t>(index) + (has_embedding() ? 1 : 0); }
  int64_t last_unit() const { return unit_of_layer(layers_.size()); }
  const Linear& head() const { return config_.tie_word_embeddings ? embedding_ : untied_head_; }

  /// `is_part`: there are layers elsewhere.
  void take_embedding(const ParameterSource& parameters, bool is_part);
  void take_layer(const ParameterSource& parameters, int64_t index);
  void take_head(const ParameterSource& parameters);
  void take(const ParameterSource& parameters, const ParameterSpec& spec, const std::function<at::Tensor&()>& place_of);
  /// `goes_on`: behind tokens that a prompt stands before already.
  at::Tensor embed(const PackedBatch& batch, bool goes_on) const;
  /// x with the prompt at its places.
  at::Tensor put_prompt(const at::Tensor& x_TH, const PackedBatch& batch) const;
  LayerRun layer_run(const Pass& pass, Output output = Output::kComputed, KeptAttention* kept = nullptr) const;
  /// A layer between its hooks.
  LayerResult run_layer(size_t index, const LayerState& input, const LayerRun& run) const;
  LayerState checkpoint_layer(size_t index, const LayerState& input, const std::shared_ptr<const Pass>& pass) const;
  Pass pass_over(const PackedBatch& batch);
  /// The state after the last layer that is here, of the stream that the first one takes in.
  LayerState run_layers(Pass pass, const at::Tensor& input_TH) const;
  at::Tensor final_hidden(Pass pass, const at::Tensor& input_TH) const;
  at::Tensor logits_of(const at::Tensor& hidden_TH) const;

  ModelConfig config_;
  int64_t first_layer_;
  Linear embedding_;  ///< a linear layer where the head is tied to it
  at::Tensor prompt_PH_;
  Norm entry_norm_;                                    ///< without parameters: the embeddings are not normed
  at::Tensor positions_PH_;                            ///< learned ones; undefined: none
  std::vector<std::unique_ptr<DecoderLayer>> layers_;  ///< at least one; never resized
  Norm final_norm_;
  Linear untied_head_{.path = "lm_head"};
  std::vector<ParameterUnit> units_;   ///< without adapters
  std::optional<RotaryCache> rotary_;  ///< none where positions are not rotary
  HookedUnits hooks_;
  SplitProducts split_;
  int64_t checkpointed_layers_ = 0;
  bool training_ = true;
  Regularisation regularisation_;
};

}  // namespace assay::engine
