// Tokens and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::data {

inline constexpr int32_t kNoToken = -1;
/// Ids above this are those of a damaged file: tables of all ids are made.
inline constexpr int64_t kLargestTokenId = 1 << 24;

/// A two-way map of tokens and ids. Ids may have holes; an id stands for one token.
class Vocabulary {
 public:
  /// Adds or replaces. `id` is not negative.
  void Add(std::string token, int32_t id);

  /// The id of `token`, or kNoToken.
  int32_t Find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? kNoToken : found->second;
  }
  /// The token of `id`, or null for a hole.
  const std::string* Token(int32_t id) const {
    const bool known = id >= 0 && static_cast<size_t>(id) < tokens_.size();
    return known ? tokens_[static_cast<size_t>(id)] : nullptr;
  }
  size_t size() const { return ids_.size(); }
  /// The largest id + 1.
  int64_t id_limit() const { return static_cast<int64_t>(tokens_.size()); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> tokens_;  // point to the keys of ids_, whose nodes do not move
};

inline void Vocabulary::Add(std::string token, int32_t id) {
  const auto [entry, added] = ids_.insert_or_assign(std::move(token), id);
  if (static_cast<size_t>(id) >= tokens_.size()) {
    tokens_.resize(static_cast<size_t>(id) + 1, nullptr);
  }
  tokens_[static_cast<size_t>(id)] = &entry->first;
}

}  // namespace assay::data
