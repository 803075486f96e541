// Models by name: the catalogue of the reference's experiments, and what a name or a folder stands for.
//
// For a name the project ships a config.json only (share/models/NAME), so a run starts from random weights, unless the
// model was fetched from a hub (job/hub_cache.h); a folder brings its own weights and tokeniser.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::data {

/// What the project can do with a name of the catalogue.
enum class ModelStatus {
  kAvailable,          ///< share/models holds its config.json
  kFamilyUnsupported,  ///< the engine cannot build its family yet
  kNotPublished,       ///< its configuration is not public: give a folder instead
};

/// One name of the catalogue.
struct CatalogueModel {
  std::string_view name;
  std::string_view family;  ///< model_type of its config.json; empty when not known
  ModelStatus status;
  bool in_reference;            ///< one of the 36 names of the reference's experiments
  std::string_view repository;  ///< of the hub, where its weights are; empty: none is known
};

/// All names, sorted.
std::span<const CatalogueModel> ModelCatalogue();

/// The modules LoRA adapts in model `name` by the reference's table; q_proj and v_proj for any other name or a folder.
std::vector<std::string> DefaultLoraTargets(std::string_view name);

/// A model that can be built.
struct ModelRef {
  std::string name;          ///< the catalogue's or the repository's name, or the folder as it was given
  std::string dir;           ///< a folder with config.json
  std::string family = {};   ///< its model_type
  bool has_weights = false;  ///< else the weights are random
  int64_t vocab_size = 0;
  int64_t quantized_bits = 0;  ///< of the weights of its layers; 0: they are not quantised
  int64_t parameters = 0;      ///< by its config.json alone; 0: it does not say
  /// `dir` where it has a tokenizer.json; the project's own small tokeniser where it holds neither weights nor a
  /// tokeniser; else empty.
  std::string tokenizer_dir = {};
  std::string no_tokenizer = {};  ///< why `tokenizer_dir` is empty, with what to do
};

/// The tokeniser for models that come without one, under `share_dir`.
std::string FallbackTokenizerDir(const std::string& share_dir);

/// What `name_or_dir` stands for: a name of the catalogue (of what was fetched for it, else of its configuration
/// alone), else a folder, else a repository of a hub that was fetched. Fails with one line for an unknown name (with
/// the nearest known one), a name whose family or configuration is missing, a folder without a usable config.json, and
/// one whose weights cannot be used (job::FindWeights).
Result<ModelRef> ResolveModel(const std::string& name_or_dir, const std::string& share_dir);

/// Refuses a model whose vocabulary is smaller than that of the tokens it is to read.
Status CheckVocabulary(int64_t model_vocab_size, int64_t tokens_vocab_size);

}  // namespace assay::data
