// Regular expressions in the syntax of the `tokenizers` library (Oniguruma), read into a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/code_point_set.h"

namespace assay::data {

inline constexpr uint32_t kUnlimited = UINT32_MAX;

/// A node of a pattern. What Oniguruma means by its syntax is spelled out: characters, classes and case folding are
/// sets, anchors and word boundaries look around, groups that capture do not.
struct RegexNode {
  enum class Kind {
    kSet,           ///< one character of `set`
    kSequence,      ///< `parts`, one after the other
    kAlternatives,  ///< the first of `parts` that leads to a match
    kRepeat,        ///< the only part, `min` to `max` times
    kAtomic,        ///< the only part, whose first match stands
    kLookAround,    ///< whether the only part matches here
    kTextBegin,
    kTextEnd,
    kSearchBegin,
  };
  enum class Greed { kGreedy, kLazy, kPossessive };

  Kind kind = Kind::kSequence;
  CodePointSet set;
  std::vector<RegexNode> parts;
  uint32_t min = 0;
  uint32_t max = 0;
  Greed greed = Greed::kGreedy;
  bool any = false;      ///< of kSet: written as '.'
  bool sought = false;   ///< of kSet: Oniguruma searches for it, a character or ASCII characters
  bool grouped = false;  ///< in a group that captures or has options: repetitions around it are not joined with it
  bool behind = false;   ///< of kLookAround: what ends here
  bool negated = false;  ///< of kLookAround

  static RegexNode Leaf(Kind kind) {
    RegexNode node;
    node.kind = kind;
    return node;
  }
  static RegexNode Set(CodePointSet set) {
    RegexNode node = Leaf(Kind::kSet);
    node.set = std::move(set);
    return node;
  }
  static RegexNode Of(Kind kind, std::vector<RegexNode> parts) {
    RegexNode node = Leaf(kind);
    node.parts = std::move(parts);
    return node;
  }
  static RegexNode LookAround(RegexNode part, bool behind, bool negated) {
    RegexNode node = Of(Kind::kLookAround, {std::move(part)});
    node.behind = behind;
    node.negated = negated;
    return node;
  }
};

/// Reads `pattern`. InvalidArgument where Oniguruma would refuse it too, Unsupported where it means something that is
/// not in the tree; the message is a phrase that names it ("back references").
Result<RegexNode> ParseRegex(std::string_view pattern);

}  // namespace assay::data
