// What a layer of a decoder is to the decoder; each network's own stands in a file of its name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/decoding_cache.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/norm.h"
#include "engine/model/router_balance.h"
#include "engine/model/split_hooks.h"

namespace assay::engine {

/// What a layer needs beside its input, and which run of it this is.
struct LayerRun {
  const ModelConfig& config;
  const SplitProducts& split;
  bool training = true;  ///< dropout is active
  const PackedBatch& batch;
  const RotaryTable& rotary;                    ///< empty: positions are not rotary
  Output output = Output::kComputed;            ///< kUnset: backward runs it again
  KeptAttention* kept = nullptr;                ///< of a checkpointed layer: what the first run leaves for the second
  std::shared_ptr<RouterBalance> balance = {};  ///< null: routers have no loss of their own
  LayerCache* cache = nullptr;                  ///< of a row that grows: what its tokens follow; null: whole rows

  /// What a block adds to the residual stream, where some of it is dropped: `path` is the dropout's own. The parts of a
  /// sum have the same elements dropped.
  at::Tensor drop(const at::Tensor& x_TH, std::string_view path) const;
};

/// Features that a layer makes of a token.
struct LayerWidths {
  int64_t queries = 0;
  int64_t keys = 0;             ///< of keys, and of values
  int64_t beside = 0;           ///< of queries, and of keys: what they get beside for attention alone
  int64_t mixer = 0;            ///< what a mixer other than attention keeps for backward beside its input
  int64_t mixer_row_bytes = 0;  ///< what it works with beside that, for each token of one row
  int64_t inner = 0;            ///< of the MLP
  int64_t mlp_kept = 0;         ///< what the MLP keeps for backward beside its input: twice the inner ones with a gate
  int64_t mixed = 0;            ///< of a mixture: what the experts of a token give, and take in
  int64_t expert_outputs = 0, expert_inputs = 0;  ///< of a mixture: the sizes of an expert's largest matrix
};

class DecoderLayer {
 public:
  virtual ~DecoderLayer() = default;
  DecoderLayer(const DecoderLayer&) = delete;

  virtual LayerResult forward(const LayerState& input, const LayerRun& run) const = 0;
  virtual LayerWidths widths() const = 0;

  const std::vector<Linear*>& linears() const { return linears_; }
  const std::vector<ExpertStack*>& stacks() const { return stacks_; }
  /// Of a weight of its products.
  at::TensorOptions options() const { return linears_.front()->weight_OI.options(); }
  /// Whether anything of it has a gradient.
  bool trains() const;

  /// Of the parameter with this name; throws c10::Error where the layer has no part of it.
  at::Tensor& place(std::string_view name);

  int64_t sliding_window = 0;  ///< keys that a query sees, its own included; 0: all earlier ones

 protected:
  /// Without parameters: each belongs at its place(). The lists are of the derived layer's own members.
  DecoderLayer(std::string attention_path, std::vector<Linear*> linears, std::vector<Norm*> norms);

  /// A parameter that belongs to neither.
  void add_place(std::string name, at::Tensor* place) { others_.emplace_back(std::move(name), place); }

  void add_stacks(std::vector<ExpertStack*> stacks) { stacks_ = std::move(stacks); }

  /// What the heads give, before the product that follows. `part`: which of the equal parts of the heads these are.
  /// `beside`: features of each head beside ModelConfig::head_dim.
  at::Tensor attend(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD, const LayerRun& run,
                    int64_t part, int64_t beside = 0) const;

  const std::string attention_path;

 private:
  std::vector<Linear*> linears_;
  std::vector<ExpertStack*> stacks_;
  std::vector<Norm*> norms_;
  std::vector<std::pair<std::string, at::Tensor*>> others_;
};

/// Layer `index` of the model's network under `path`, "model.layers.0".
std::unique_ptr<DecoderLayer> make_decoder_layer(const ModelConfig& config, const std::string& path, int64_t index);

}  // namespace assay::engine
