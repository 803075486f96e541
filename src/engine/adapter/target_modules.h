// Which linear layers an adapter goes on, decided as peft decides it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/adapter/lora.h"

namespace assay::engine {

/// True when `target` is `path` or its last components: "q_proj" and "self_attn.q_proj" match
/// "model.layers.0.self_attn.q_proj", "proj" does not.
bool matches_target(std::string_view path, std::string_view target);

/// True for text that can only be meant as a regular expression, never as a module name.
bool is_pattern(std::string_view target);

/// What must match.
enum class Matching {
  kEveryTarget,  ///< each of those that are listed
  kAnyTarget,    ///< one of them
  kPartOfModel,  ///< one of them, in the part of a model that the paths are of: the others may match other parts
};

/// The indices of `paths` that `config` targets, ascending. Throws StatusError when nothing is matched, when the
/// pattern is not a regular expression or, where every target must, when one of those listed matches nothing; the
/// message lists the module names there are.
std::vector<size_t> matched_modules(const std::vector<std::string>& paths, const LoraConfig& config, Matching matching);

}  // namespace assay::engine
