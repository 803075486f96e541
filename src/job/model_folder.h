// What a model folder in Hugging Face's layout holds, as controller and worker both read it: what is there is used or
// refused, and never silently replaced by something else.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace assay::job {

inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kWeightsIndexFile[] = "model.safetensors.index.json";

/// The file in `model_dir` that says where its weights are: kWeightsFile, else kWeightsIndexFile. Empty where the
/// folder, and the folders in it, hold no weights in any form. Fails with one line where they do but cannot be used:
/// another format, another name, shards without an index, an adapter alone.
Result<std::string> FindWeights(const std::string& model_dir);

/// Names, in their order, of the files in `model_dir` that make the model what it is: its config.json and its weights
/// (of an adapter: those).
Result<std::vector<std::string>> ModelFiles(const std::string& model_dir);

/// A file in `dir` that is a tokeniser in a form that cannot be read (tokenizer.model, vocab.json, tekken.json); empty
/// where there is none.
Result<std::string> FindOtherTokenizer(const std::string& dir);

}  // namespace assay::job
