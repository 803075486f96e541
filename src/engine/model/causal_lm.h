// The interface of single-device causal language models. A model knows nothing of ranks, adapters or optimisers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "architecture/model_config.h"
#include "engine/kernels/dora.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/packed_batch.h"
#include "engine/model/activation_cost.h"
#include "engine/model/decoding_cache.h"
#include "engine/model/expert_stack.h"
#include "engine/model/recomputable.h"
#include "engine/model/split_hooks.h"

namespace assay::engine {

using architecture::ModelConfig;

/// Where a layer draws its adapter's dropout (see dropout_mask()).
struct DropoutPlace {
  at::Tensor keys_T{};  ///< PackedBatch::draw_keys_T
  int64_t part = 0;     ///< which of the equal parts of the whole layer's input the layer reads
};

/// A linear layer under its Hugging Face module path ("model.layers.0.self_attn.q_proj"). An adapter, put on from
/// outside, changes what forward() computes.
struct Linear {
  std::string path;
  at::Tensor weight_OI{};
  std::optional<at::Tensor> bias_O{};
  std::optional<LoraTensors> lora{};
  std::optional<DoraTensors> dora{};  ///< with lora
  bool training = true;               ///< dropout of the adapter is active
  FrozenWeightPtr frozen{};           ///< the weight in another form; null: it is used as it is

  /// Whether anything of it has a gradient.
  bool trains() const;
  /// `output` as in linear() of the kernels.
  at::Tensor forward(const Recomputable& x_TI, Output output = Output::kComputed, const DropoutPlace& place = {}) const;
};

/// The name of CausalLM::prompt_PH() in peft's files.
inline constexpr char kPromptName[] = "prompt_embeddings";

/// A parameter under its Hugging Face name ("model.layers.0.self_attn.q_proj.weight").
using NamedTensor = std::pair<std::string, at::Tensor>;

/// What a training does for the model to generalise, and an evaluation does not.
struct Regularisation {
  /// See linear_cross_entropy_sum().
  double label_smoothing = 0;
  /// Uniform noise of at most alpha / sqrt(L * H) on the embeddings of a row of L tokens (Jain et al. 2023, "NEFTune:
  /// Noisy Embeddings Improve Instruction Finetuning"); 0: none.
  double neftune_alpha = 0;
};

class CausalLM : public Splittable {
 public:
  /// [T, V]; for tests and inspection, training uses loss_sum().
  virtual at::Tensor logits(const PackedBatch& batch) = 0;
  /// Those of the batch's last token, [V]. With `cache` the batch goes on with the one row that this is of, one token
  /// at a time after its first call: `positions_T` and `longest_row` count from the row's begin.
  virtual at::Tensor next_logits(const PackedBatch& batch, DecodingCache* cache) = 0;
  /// The pass of the part that this model is: from the residual stream [T, H] that the part before it gave (not read
  /// where it begins the model) to the residual stream, or, where it ends the model, to the sum of the cross-entropies
  /// of the supervised tokens, a float32 scalar, with the auxiliary loss of routers added to it times
  /// router_loss_weight(). The caller divides: backward will bring `gradient` to it (see linear_cross_entropy_sum).
  virtual at::Tensor forward(const PackedBatch& batch, const at::Tensor& input_TH, double gradient) = 0;
  /// The same of a whole model.
  at::Tensor loss_sum(const PackedBatch& batch, double gradient) { return forward(batch, {}, gradient); }

  /// So many times the batch's auxiliary loss of routers (router_balance.h) are in its loss: the model's coefficient
  /// for it, times what the caller divides by, as transformers has it once in each micro-batch's loss.
  double router_loss_weight(const PackedBatch& batch) const {
    return config().router_loss_coefficient * static_cast<double>(batch.step_supervised);
  }
  /// Whether anything in the batch has a loss.
  bool bears_loss(const PackedBatch& batch) const { return batch.supervised() > 0 || router_loss_weight(batch) > 0; }

  virtual bool begins_model() const = 0;
  virtual bool ends_model() const = 0;
  bool is_whole() const { return begins_model() && ends_model(); }
  virtual int64_t first_layer() const = 0;
  /// Of the residual stream.
  virtual at::ScalarType residual_dtype() const = 0;

  /// Base parameters in the order and under the names of the Hugging Face checkpoint; a tied head is not listed, unless
  /// this part of the model has no other use for the embeddings.
  virtual std::vector<NamedTensor> parameters() const = 0;
  /// Trained embeddings that stand before each row of a batch with a prompt (PackedBatch::prompt_places), put on from
  /// outside where the model begins: float32 [prompt_length, H] (Lester et al. 2021, "The Power of Scale for
  /// Parameter-Efficient Prompt Tuning"). Undefined: none.
  virtual at::Tensor& prompt_PH() = 0;
  /// Every linear layer that an adapter may be put on (not the embedding); pointers stay valid as long as the model.
  virtual std::vector<Linear*> linears() = 0;
  /// The experts' tensors that an adapter may be put on, a layer's together; pointers stay valid likewise.
  virtual std::vector<ExpertStack*> expert_stacks() { return {}; }
  /// Every linear layer, with the head.
  virtual std::vector<Linear*> linears_and_head() = 0;

  virtual const ModelConfig& config() const = 0;
  std::string model_type() const { return config().model_type; }
  int64_t vocab_size() const { return config().vocab_size; }

  /// What a micro-batch of `tokens` tokens in rows of at most `longest` needs, with the adapters and trainable
  /// parameters that are there now.
  virtual ActivationCost activation_cost(int64_t tokens, int64_t longest) const = 0;
  /// Of the decoder layers that keep activations, the first `count` of the whole model keep only their input and run
  /// again in backward. Gradients are the same to the bit.
  virtual void set_checkpointed_layers(int64_t count) = 0;
  /// Whether dropout and what set_regularisation() asks for are active; on at first.
  virtual void set_training(bool on) = 0;
  virtual void set_regularisation(const Regularisation& regularisation) = 0;
};

}  // namespace assay::engine
