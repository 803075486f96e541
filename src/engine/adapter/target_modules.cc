#include "engine/adapter/target_modules.h"

#include <algorithm>
#include <memory>
#include <set>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pcre2.h>

#include "base/json.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr std::string_view kAllLinear = "all-linear";

/// A regular expression that a whole text must match, as Python's re.fullmatch.
class FullMatcher {
 public:
  explicit FullMatcher(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF, &error, &offset, nullptr));
    if (!code_) {
      PCRE2_UCHAR text[256] = {};
      pcre2_get_error_message(error, text, sizeof(text));
      throw_invalid_argument(fmt::format("target modules '{}' is not a regular expression: {} at character {}", pattern,
                                         reinterpret_cast<const char*>(text), offset));
    }
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  bool matches(std::string_view text) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, match_.get(),
                       nullptr) >= 0;
  }

 private:
  struct Deleter {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Deleter> code_;
  std::unique_ptr<pcre2_match_data, Deleter> match_;
};

/// The last components of the paths: what a user would name.
std::string available_names(const std::vector<std::string>& paths) {
  std::set<std::string> names;
  for (const std::string& path : paths) {
    names.insert(path.substr(path.rfind('.') + 1));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string suggestion(const std::string& target, const std::vector<std::string>& paths) {
  std::set<std::string> names;
  for (const std::string& path : paths) {
    names.insert(path.substr(path.rfind('.') + 1));
  }
  const std::string nearest = NearestName(target, {names.begin(), names.end()});
  return nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
}

/// peft would adapt what a pattern names beside the layers; a list that names it is refused like any unknown name.
void refuse_outside_layers(const FullMatcher& matcher, const std::string& pattern) {
  for (const char* path :
       {"lm_head", "model.embed_tokens", "transformer.wte", "transformer.wpe", "transformer.word_embeddings"}) {
    if (matcher.matches(path)) {
      throw_invalid_argument(
          fmt::format("target modules '{}' match {}, and adapters are put on the linear layers within the layers alone",
                      pattern, path));
    }
  }
}

[[noreturn]] void refuse_part_without_adapters(const std::vector<std::string>& paths, const std::string& targets) {
  throw_invalid_argument(
      fmt::format("target modules '{}' match nothing from {} to {}, and each pipeline stage needs an adapter to train: "
                  "target layers of every stage, or take fewer stages",
                  targets, paths.front(), paths.back()));
}

std::vector<size_t> matched_by_pattern(const std::vector<std::string>& paths, const std::string& pattern,
                                       Matching matching) {
  const FullMatcher matcher(pattern);
  refuse_outside_layers(matcher, pattern);
  std::vector<size_t> matched;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (matcher.matches(paths[i])) {
      matched.push_back(i);
    }
  }
  if (matched.empty() && matching == Matching::kPartOfModel) {
    refuse_part_without_adapters(paths, pattern);
  }
  if (matched.empty()) {
    throw_invalid_argument(
        fmt::format("target modules '{}' match no whole module path such as '{}'; available modules: {}", pattern,
                    paths.front(), available_names(paths)));
  }
  return matched;
}

void check_every_target(const std::vector<std::string>& paths, const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    const bool matches_any =
        std::ranges::any_of(paths, [&](const std::string& path) { return matches_target(path, target); });
    if (!matches_any) {
      throw_invalid_argument(
          fmt::format("target module '{}' matches no linear layer of the model{}; available modules: {}, or {}", target,
                      suggestion(target, paths), available_names(paths), kAllLinear));
    }
  }
}

}  // namespace

bool matches_target(std::string_view path, std::string_view target) {
  if (!path.ends_with(target) || target.empty()) {
    return false;
  }
  return path.size() == target.size() || path[path.size() - target.size() - 1] == '.';
}

bool is_pattern(std::string_view target) {
  return target.find_first_of("*+?[](){}|^$\\") != std::string_view::npos;
}

std::vector<size_t> matched_modules(const std::vector<std::string>& paths, const LoraConfig& config,
                                    Matching matching) {
  if (!config.target_pattern.empty()) {
    return matched_by_pattern(paths, config.target_pattern, matching);
  }
  const auto& targets = config.target_modules;
  if (matching == Matching::kEveryTarget) {
    check_every_target(paths, targets);
  }
  std::vector<size_t> matched;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (std::ranges::any_of(targets, [&](const std::string& target) { return matches_target(paths[i], target); })) {
      matched.push_back(i);
    }
  }
  if (matched.empty() && matching == Matching::kPartOfModel) {
    refuse_part_without_adapters(paths, fmt::format("{}", fmt::join(targets, ", ")));
  }
  if (matched.empty()) {
    throw_invalid_argument(
        fmt::format("target modules [{}] match no linear layer of the model; available modules: {}, or {}",
                    fmt::join(targets, ", "), available_names(paths), kAllLinear));
  }
  return matched;
}

}  // namespace assay::engine
