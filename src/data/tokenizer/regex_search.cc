#include "data/tokenizer/regex_search.h"

#include <algorithm>

namespace assay::data {
namespace {

using Kind = RegexNode::Kind;
using Greed = RegexNode::Greed;

// Where assertions hold.
enum class Holds { kEverywhere, kTextBegin, kLineBegin, kElsewhere };

Holds Both(Holds a, Holds b) {
  for (const Holds begin : {Holds::kTextBegin, Holds::kLineBegin}) {
    if (a == begin || b == begin) {
      return begin;
    }
  }
  return std::max(a, b);
}

Holds Either(Holds a, Holds b) {
  const auto [least, most] = std::minmax(a, b);
  return a == b || (least == Holds::kTextBegin && most == Holds::kLineBegin) ? most : Holds::kElsewhere;
}

// What Oniguruma 6.9.10 gathers of a part to find out where to look (optimize_nodes() in its regcomp.c), where nothing
// is before it. Of what must be so in every alternative, and follows from all parts in turn.
struct Traits {
  bool takes_none = true;             // no characters, however it matches
  bool may_take_none = true;          // no characters, if it matches so
  bool begins_with_any = false;       // '.*'
  bool begins_with_any_text = false;  // '.*' where '.' takes newlines
  bool looks_behind = false;          // before characters are taken
  bool denies_ahead = false;          // a negative look-ahead
  bool sought = false;                // characters that a search skips to
  bool sought_ahead = false;          // some of them in a look-ahead before characters are taken
  bool ends_text = false;
  bool unsure = false;                // that Oniguruma gathers the same
  Holds holds = Holds::kEverywhere;   // of what takes none
  Holds before = Holds::kEverywhere;  // the '.*'
};

Traits InTurn(const Traits& a, const Traits& b) {
  Traits both = a;
  if (a.takes_none) {
    both.begins_with_any = b.begins_with_any;
    both.begins_with_any_text = b.begins_with_any_text;
    both.looks_behind |= b.looks_behind;
    both.sought_ahead |= b.sought_ahead;
    both.before = Both(a.holds, b.before);
    both.holds = Both(a.holds, b.holds);
  }
  both.takes_none &= b.takes_none;
  both.may_take_none &= b.may_take_none;
  both.denies_ahead |= b.denies_ahead;
  both.sought |= b.sought;
  both.ends_text |= b.ends_text;
  both.unsure |= b.unsure;
  return both;
}

Traits OneOf(const Traits& a, const Traits& b) {
  return {
      .takes_none = a.takes_none && b.takes_none,
      .may_take_none = a.may_take_none || b.may_take_none,
      .begins_with_any = a.begins_with_any && b.begins_with_any,
      .begins_with_any_text = a.begins_with_any_text && b.begins_with_any_text,
      .looks_behind = a.looks_behind && b.looks_behind,
      .denies_ahead = a.denies_ahead && b.denies_ahead,
      .sought = a.sought && b.sought,
      .sought_ahead = a.sought_ahead || b.sought_ahead,
      .ends_text = a.ends_text && b.ends_text,
      .unsure = a.unsure || b.unsure,
      .holds = Either(a.holds, b.holds),
      .before = Either(a.before, b.before),
  };
}

// '?', '*' or '+', of which Oniguruma makes one where they follow one another.
bool IsSign(const RegexNode& repeat) {
  return repeat.max == kUnlimited ? repeat.min <= 1 : repeat.min == 0 && repeat.max == 1;
}

class Gatherer {
 public:
  explicit Gatherer(bool names_groups) : names_groups_(names_groups) {}

  Traits Of(const RegexNode& node) const {
    switch (node.kind) {
      case Kind::kSet:
        return {.takes_none = false, .may_take_none = false, .sought = node.sought};
      case Kind::kSequence:
      case Kind::kAlternatives:
        return OfParts(node);
      case Kind::kRepeat:
        return OfRepeat(node);
      case Kind::kAtomic:
        return Of(node.parts[0]);
      case Kind::kLookAround:
        return OfLookAround(node);
      case Kind::kTextEnd:
        return {.ends_text = true, .holds = Holds::kElsewhere};
      case Kind::kTextBegin:
      case Kind::kSearchBegin:
        return {.holds = Holds::kTextBegin};
    }
    return {};
  }

 private:
  Traits OfParts(const RegexNode& node) const {
    Traits all;
    for (const RegexNode& part : node.parts) {
      const Traits traits = Of(part);
      const bool first = &part == node.parts.data();
      all = first ? traits : node.kind == Kind::kSequence ? InTurn(all, traits) : OneOf(all, traits);
    }
    return all;
  }

  Traits OfRepeat(const RegexNode& node) const {
    if (node.max == 0) {
      return {};
    }
    const Traits part = Of(node.parts[0]);
    Traits traits = part;
    if (node.min == 0) {
      traits = {.takes_none = part.takes_none, .unsure = part.unsure};
    }
    if (const RegexNode* any = AnyNumberOfAny(node)) {
      (any->set.Contains('\n') ? traits.begins_with_any_text : traits.begins_with_any) = true;
      traits.unsure |= names_groups_;
    }
    return traits;
  }

  // The '.' of '.*', or of repetitions that come to the same; else null.
  const RegexNode* AnyNumberOfAny(const RegexNode& node) const {
    bool unlimited = node.max == kUnlimited;
    const RegexNode* part = &node.parts[0];
    while (part->kind == Kind::kRepeat && part->greed == Greed::kGreedy && !IsGroup(*part)) {
      if (part->min != 1 || part->max != 1) {
        if (!IsSign(node) || !IsSign(*part)) {
          return nullptr;
        }
        unlimited = unlimited || part->max == kUnlimited;
      }
      part = &part->parts[0];
    }
    return unlimited && node.greed != Greed::kLazy && part->any && !IsGroup(*part) ? part : nullptr;
  }

  bool IsGroup(const RegexNode& node) const { return node.grouped && !names_groups_; }

  Traits OfLookAround(const RegexNode& node) const {
    const Traits part = Of(node.parts[0]);
    Traits traits{.holds = Holds::kElsewhere};
    if (!node.behind) {
      traits.denies_ahead = node.negated;
      traits.sought = traits.sought_ahead = !node.negated && part.sought;
      traits.ends_text = !node.negated && part.ends_text;
    } else if (!node.negated) {
      const bool newline = node.parts[0].kind == Kind::kSet && (node.parts[0].set & ~CodePointSet('\n')).empty();
      traits.holds = newline ? Holds::kLineBegin : Holds::kElsewhere;
      traits.looks_behind = true;
      traits.unsure = part.may_take_none;  // Oniguruma drops some of these
    }
    return traits;
  }

  bool names_groups_;
};

RegexNode WhereSearchesLook(bool any_text) {
  const RegexNode begin = RegexNode::Leaf(Kind::kSearchBegin);
  RegexNode before = RegexNode::Set(CodePointSet('\n'));
  if (any_text) {
    before = RegexNode::Of(Kind::kSequence, {begin, RegexNode::Set(CodePointSet::All())});
  }
  return RegexNode::Of(Kind::kAlternatives, {begin, RegexNode::LookAround(std::move(before), true, false)});
}

}  // namespace

Result<RegexNode> AsSearched(RegexNode tree, bool names_groups) {
  const Traits traits = Gatherer(names_groups).Of(tree);
  const bool any_text = traits.begins_with_any_text;
  const bool asserted = traits.before == Holds::kElsewhere || (any_text && traits.before == Holds::kLineBegin);
  if (!asserted || !(any_text || traits.begins_with_any)) {
    return tree;
  }
  const bool looks_everywhere = traits.looks_behind || (!any_text && (traits.denies_ahead || !traits.sought));
  if (looks_everywhere && !traits.unsure) {
    return tree;
  }
  if (traits.unsure || traits.sought_ahead || (any_text && traits.ends_text)) {
    return Status::Unsupported("'.*' behind an assertion at its beginning, in a way that cannot be told");
  }
  return RegexNode::Of(Kind::kSequence, {WhereSearchesLook(any_text), std::move(tree)});
}

}  // namespace assay::data
