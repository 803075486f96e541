#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "data/tokenizer/regex_cursor.h"
#include "data/tokenizer/regex_search.h"
#include "data/tokenizer/regex_syntax.h"
#include "data/tokenizer/regex_unicode.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

using Kind = RegexNode::Kind;
using Greed = RegexNode::Greed;

constexpr int kMaxDepth = 50;
constexpr uint32_t kMaxRepeats = 65535;

struct Options {
  bool ignore_case = false;
  bool dot_takes_newline = false;
  bool extended = false;
};

RegexNode LookAhead(RegexNode part, bool negated = false) {
  return RegexNode::LookAround(std::move(part), false, negated);
}
RegexNode LookBehind(RegexNode part, bool negated = false) {
  return RegexNode::LookAround(std::move(part), true, negated);
}
RegexNode AnyOf(std::vector<RegexNode> parts) {
  return RegexNode::Of(Kind::kAlternatives, std::move(parts));
}
RegexNode InTurn(std::vector<RegexNode> parts) {
  return RegexNode::Of(Kind::kSequence, std::move(parts));
}
RegexNode Repeat(RegexNode part, uint32_t min, uint32_t max, Greed greed) {
  RegexNode node = RegexNode::Of(Kind::kRepeat, {std::move(part)});
  node.min = min;
  node.max = max;
  node.greed = greed;
  return node;
}
RegexNode Newline() {
  return RegexNode::Set(CodePointSet('\n'));
}

// '.'
RegexNode Any(bool newline) {
  RegexNode node = RegexNode::Set(newline ? CodePointSet::All() : ~CodePointSet('\n'));
  node.any = true;
  return node;
}

// ^: at the beginning, and after every newline but one that ends the text.
RegexNode LineBegin() {
  return AnyOf({RegexNode::Leaf(Kind::kTextBegin),
                InTurn({LookBehind(Newline()), LookAhead(RegexNode::Leaf(Kind::kTextEnd), true)})});
}

// $
RegexNode LineEnd() {
  return LookAhead(AnyOf({Newline(), RegexNode::Leaf(Kind::kTextEnd)}));
}

// \Z: at the end, or before a newline that ends the text.
RegexNode LastLineEnd() {
  return LookAhead(InTurn({Repeat(Newline(), 0, 1, Greed::kGreedy), RegexNode::Leaf(Kind::kTextEnd)}));
}

// \b, or \B where `negated`.
RegexNode WordBoundary(bool negated) {
  const RegexNode word = RegexNode::Set(FindProperty("\\w", PropertyPlace::kPattern).value());
  return AnyOf({InTurn({LookBehind(word), LookAhead(word, !negated)}),
                InTurn({LookBehind(word, true), LookAhead(word, negated)})});
}

// \R
RegexNode AnyNewline() {
  const CodePointSet single({{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}});
  const RegexNode both = InTurn({RegexNode::Set(CodePointSet('\r')), Newline()});
  return RegexNode::Of(Kind::kAtomic, {AnyOf({both, RegexNode::Set(single)})});
}

bool IsAscii(const CodePointSet& set) {
  return !set.empty() && set.ranges().back().last < 0x80;
}

bool IsOne(const CodePointSet& set) {
  return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
}

RegexNode Sought(RegexNode node, bool sought) {
  node.sought = sought;
  return node;
}

bool MayTakeNone(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return false;
    case Kind::kAlternatives:
      return std::any_of(node.parts.begin(), node.parts.end(), MayTakeNone);
    case Kind::kRepeat:
      return node.min == 0 || MayTakeNone(node.parts[0]);
    case Kind::kSequence:
    case Kind::kAtomic:
      return std::all_of(node.parts.begin(), node.parts.end(), MayTakeNone);
    default:
      return true;
  }
}

// Whether it may take nothing where it could take something, unless all that follows fails: it has alternatives,
// assertions, or parts that are lazy, possessive or atomic.
bool Chooses(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return false;
    case Kind::kRepeat:
      return node.greed != Greed::kGreedy || Chooses(node.parts[0]);
    case Kind::kSequence:
      return std::any_of(node.parts.begin(), node.parts.end(), Chooses);
    default:
      return true;
  }
}

bool FoldsToSeveral(const CodePointSet& set) {
  const auto foldings = MultipleFoldings();
  return std::any_of(foldings.begin(), foldings.end(),
                     [&](const MultipleFolding& folding) { return set.Contains(folding.code_point); });
}

// Whether a text of `letters`, case folded, holds what one other character folds to.
bool HoldsMultipleFolding(std::u32string_view letters) {
  const auto foldings = MultipleFoldings();
  return std::any_of(foldings.begin(), foldings.end(), [&](const MultipleFolding& folding) {
    std::u32string text;
    for (size_t i = 0; i < folding.size(); ++i) {
      text += static_cast<char32_t>(FoldedCase(folding.text[i]));
    }
    return letters.find(text) != std::u32string_view::npos;
  });
}

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : cursor_(pattern) {}

  Result<RegexNode> Run() {
    ASSAY_ASSIGN_OR_RETURN(RegexNode node, Alternatives());
    if (!cursor_.AtEnd()) {
      return Status::InvalidArgument("a ')' closes nothing");
    }
    return AsSearched(std::move(node), names_groups_);
  }

 private:
  struct Bounds {
    uint32_t min;
    uint32_t max;
    bool comma = false;
  };

  // Up to the end of the group, whose ')' is left.
  Result<RegexNode> Alternatives() {
    if (++depth_ > kMaxDepth) {
      return Status::Unsupported("groups nested that deeply");
    }
    std::vector<RegexNode> parts;
    do {
      ASSAY_ASSIGN_OR_RETURN(RegexNode part, Sequence());
      parts.push_back(std::move(part));
    } while (cursor_.Take("|"));
    --depth_;
    return parts.size() == 1 ? std::move(parts[0]) : AnyOf(std::move(parts));
  }

  Result<RegexNode> Sequence() {
    std::vector<RegexNode> parts;
    std::u32string folded;  // the characters, case folded, of a stretch of text whose case is ignored
    for (SkipIgnored(); !cursor_.AtEnd() && !cursor_.Sees("|") && !cursor_.Sees(")"); SkipIgnored()) {
      folded_character_ = 0;
      ASSAY_ASSIGN_OR_RETURN(RegexNode part, Atom());
      SkipIgnored();
      bool repeated = false;
      ASSAY_RETURN_IF_ERROR(TakeRepetitions(&part, &repeated));
      parts.push_back(std::move(part));
      if (folded_character_ == 0 || repeated) {
        ASSAY_RETURN_IF_ERROR(CheckFolding(folded));
        folded.clear();
      } else {
        folded += folded_character_;
      }
    }
    ASSAY_RETURN_IF_ERROR(CheckFolding(folded));
    return parts.size() == 1 ? std::move(parts[0]) : InTurn(std::move(parts));
  }

  static Status CheckFolding(std::u32string_view folded) {
    return HoldsMultipleFolding(folded) ? Status::Unsupported("letters that ligatures stand for, their case ignored")
                                        : Status::Ok();
  }

  // Comments, and with (?x) white space and the rest of a line behind '#'.
  void SkipIgnored() {
    while (!cursor_.AtEnd()) {
      if (RegexCursor ahead = cursor_; ahead.Take("(?#") && ahead.TakeUntil(")")) {
        cursor_ = ahead;
      } else if (!options_.extended) {
        return;
      } else if (cursor_.Take("#")) {
        while (!cursor_.AtEnd() && cursor_.Next() != '\n') {
        }
      } else if (std::string_view(" \t\n\v\f\r").find(cursor_.Peek()) != std::string_view::npos) {
        (void)cursor_.Next();
      } else {
        return;
      }
    }
  }

  Result<RegexNode> Atom() {
    if (cursor_.Take("(")) {
      return Group();
    }
    if (cursor_.Take("[")) {
      return Brackets();
    }
    if (cursor_.Take("\\")) {
      return Escape();
    }
    if (cursor_.Take("^")) {
      return LineBegin();
    }
    if (cursor_.Take("$")) {
      return LineEnd();
    }
    if (cursor_.Take(".")) {
      return Any(options_.dot_takes_newline);
    }
    if (TakeBounds() || std::string_view("*+?").find(cursor_.Peek()) != std::string_view::npos) {
      return Status::InvalidArgument("a repetition has nothing to repeat");
    }
    return Character(cursor_.Next());
  }

  Result<RegexNode> Character(uint32_t code_point) {
    if (!options_.ignore_case) {
      return Sought(RegexNode::Set(CodePointSet(code_point)), true);
    }
    folded_character_ = static_cast<char32_t>(FoldedCase(code_point));
    ASSAY_ASSIGN_OR_RETURN(RegexNode node, IgnoringCase(CodePointSet(code_point), false));
    const bool sought = IsAscii(node.set) || IsOne(node.set);
    return Sought(std::move(node), sought);
  }

  static Result<RegexNode> IgnoringCase(const CodePointSet& set, bool negated) {
    CodePointSet closed = CloseOverCase(set);
    if (negated) {
      return RegexNode::Set(~closed);
    }
    if (FoldsToSeveral(closed)) {
      return Status::Unsupported("a character that stands for several letters, its case ignored");
    }
    const bool sought = IsAscii(closed);
    return Sought(RegexNode::Set(std::move(closed)), sought);
  }

  Result<RegexNode> Brackets() {
    bool negated = false;
    ASSAY_ASSIGN_OR_RETURN(CodePointSet set, cursor_.TakeBrackets(&negated, 0));
    if (options_.ignore_case) {
      return IgnoringCase(set, negated);
    }
    const bool sought = !negated && IsAscii(set);
    return Sought(RegexNode::Set(negated ? ~set : std::move(set)), sought);
  }

  Result<RegexNode> Escape() {
    switch (cursor_.Peek()) {
      case 'A':
        return Step(RegexNode::Leaf(Kind::kTextBegin));
      case 'z':
        return Step(RegexNode::Leaf(Kind::kTextEnd));
      case 'Z':
        return Step(LastLineEnd());
      case 'G':
        return Step(RegexNode::Leaf(Kind::kSearchBegin));
      case 'b':
        return Step(WordBoundary(false));
      case 'B':
        return Step(WordBoundary(true));
      case 'R':
        return Step(AnyNewline());
      case 'N':
        return Step(Any(false));
      case 'O':
        return Step(Any(true));
      default:
        break;
    }
    ASSAY_ASSIGN_OR_RETURN(RegexCharacters characters, cursor_.TakeEscape(false));
    if (characters.code_point) {
      return Character(*characters.code_point);
    }
    const bool sought = IsAscii(characters.set);
    return Sought(RegexNode::Set(std::move(characters.set)), sought);
  }

  // `node`, past the character that stands for it.
  RegexNode Step(RegexNode node) {
    (void)cursor_.Next();
    return node;
  }

  // What follows '('.
  Result<RegexNode> Group() {
    if (cursor_.Sees("*")) {
      return Status::Unsupported("verbs");
    }
    const Options outside = options_;
    bool isolated = false;
    const bool captures = !cursor_.Sees("?");
    Result<RegexNode> node = cursor_.Take("?") ? ExtendedGroup(&isolated) : Alternatives();
    options_ = outside;
    if (node.ok()) {
      node->grouped |= captures;
    }
    if (!node.ok() || isolated || cursor_.Take(")")) {
      return node;
    }
    return Status::InvalidArgument("a group has no end");
  }

  // What follows '(?'.
  Result<RegexNode> ExtendedGroup(bool* isolated) {
    if (cursor_.Take(":")) {
      return Alternatives();
    }
    if (cursor_.Take(">")) {
      ASSAY_ASSIGN_OR_RETURN(RegexNode node, Alternatives());
      return RegexNode::Of(Kind::kAtomic, {std::move(node)});
    }
    for (const bool behind : {false, true}) {
      for (const bool negated : {false, true}) {
        if (cursor_.Take(std::string(behind ? "<" : "") + (negated ? "!" : "="))) {
          ASSAY_ASSIGN_OR_RETURN(RegexNode node, Alternatives());
          return RegexNode::LookAround(std::move(node), behind, negated);
        }
      }
    }
    if (cursor_.Sees("<") || cursor_.Sees("'")) {
      const char* close = cursor_.Next() == '<' ? ">" : "'";
      const std::optional<std::string_view> name = cursor_.TakeUntil(close);
      if (!name || name->empty() || (name->front() >= '0' && name->front() <= '9')) {
        return Status::InvalidArgument(name ? "a group's name does not begin with a letter"
                                            : "a group's name has no end");
      }
      names_groups_ = true;
      return Alternatives();
    }
    if (!cursor_.AtEnd() && std::string_view("~({WDSPyCIL").find(cursor_.Peek()) != std::string_view::npos) {
      return Status::Unsupported(fmt::format("groups that begin with '(?{}'", cursor_.Peek()));
    }
    return OptionGroup(isolated);
  }

  // (?i-m:...), or (?i), which is `isolated`: it holds for the rest of the group around it, alternatives and all, and
  // leaves that group's ')'.
  Result<RegexNode> OptionGroup(bool* isolated) {
    if (cursor_.Sees(")")) {
      return Status::InvalidArgument("a group has neither options nor a part");
    }
    bool on = true;
    for (; !cursor_.Sees(":") && !cursor_.Sees(")"); (void)cursor_.Next()) {
      switch (cursor_.Peek()) {
        case '-':
          on = false;
          break;
        case 'i':
          options_.ignore_case = on;
          break;
        case 'm':
          options_.dot_takes_newline = on;
          break;
        case 'x':
          options_.extended = on;
          break;
        default:
          return Status::InvalidArgument("a group has an option that does not exist");
      }
    }
    *isolated = cursor_.Take(")");
    if (!*isolated) {
      cursor_.Take(":");
    }
    ASSAY_ASSIGN_OR_RETURN(RegexNode node, Alternatives());
    node.grouped = true;
    return node;
  }

  // {n}, {n,}, {,n} or {n,m}; anything else stands for itself, unless a number in it is too large.
  std::optional<Bounds> TakeBounds() {
    RegexCursor ahead = cursor_;
    if (!ahead.Take("{")) {
      return std::nullopt;
    }
    const std::optional<uint32_t> min = ahead.TakeNumber();
    const bool comma = ahead.Take(",");
    const std::optional<uint32_t> max = comma ? ahead.TakeNumber() : min;
    const bool too_large = min.value_or(0) > kMaxRepeats || max.value_or(0) > kMaxRepeats;
    if ((!ahead.Take("}") && !too_large) || (!min && !max)) {
      return std::nullopt;
    }
    cursor_ = ahead;
    return Bounds{min.value_or(0), max.value_or(kUnlimited), comma};
  }

  // A repetition behind an atom; null when there is none. A '+' behind {n,m} is one more, and so is a '?' behind {n},
  // but not behind {n,n}.
  std::optional<Bounds> TakeRepetition(Greed* greed) {
    *greed = Greed::kGreedy;
    if (const std::optional<Bounds> bounds = TakeBounds()) {
      if (bounds->comma && cursor_.Take("?")) {
        *greed = Greed::kLazy;
      }
      return bounds;
    }
    constexpr std::pair<std::string_view, Bounds> kSigns[] = {
        {"*", {0, kUnlimited}}, {"+", {1, kUnlimited}}, {"?", {0, 1}}};
    for (const auto& [sign, bounds] : kSigns) {
      if (cursor_.Take(sign)) {
        *greed = cursor_.Take("?") ? Greed::kLazy : cursor_.Take("+") ? Greed::kPossessive : Greed::kGreedy;
        return bounds;
      }
    }
    return std::nullopt;
  }

  Status TakeRepetitions(RegexNode* node, bool* repeated) {
    Greed greed = Greed::kGreedy;
    for (int count = 0; const std::optional<Bounds> bounds = TakeRepetition(&greed); SkipIgnored()) {
      if (bounds->min > kMaxRepeats || (bounds->max > kMaxRepeats && bounds->max != kUnlimited)) {
        return Status::Unsupported(fmt::format("more than {} repetitions", kMaxRepeats));
      }
      if (bounds->max < bounds->min) {
        return Status::Unsupported("a repetition whose bounds are in descending order");
      }
      if (++count > kMaxDepth) {
        return Status::Unsupported("repetitions of repetitions that deep");
      }
      ASSAY_RETURN_IF_ERROR(CheckRepeated(*node, *bounds, greed));
      *node = Repeat(std::move(*node), bounds->min, bounds->max, greed);
      *repeated = true;
    }
    return Status::Ok();
  }

  // Oniguruma rewrites a repetition of a repetition, and where one of them is lazy into something else. A round that
  // takes nothing ends its repetitions, even where there were less than the least number; PCRE2 goes on.
  static Status CheckRepeated(const RegexNode& node, const Bounds& bounds, Greed greed) {
    if (IsAssertion(node)) {
      return Status::InvalidArgument("a repetition repeats an assertion");
    }
    const bool counted = bounds.max > 1 && (bounds.min > 1 || bounds.max != kUnlimited);
    if (counted && MayTakeNone(node) && Chooses(node)) {
      return Status::Unsupported("a counted repetition of what may be empty");
    }
    const bool lazy = greed == Greed::kLazy || node.greed == Greed::kLazy;
    return node.kind == Kind::kRepeat && lazy ? Status::Unsupported("a lazy repetition within or around another")
                                              : Status::Ok();
  }

  static bool IsAssertion(const RegexNode& node) {
    switch (node.kind) {
      case Kind::kLookAround:
      case Kind::kTextBegin:
      case Kind::kTextEnd:
      case Kind::kSearchBegin:
        return true;
      case Kind::kSequence:
        return !node.parts.empty() && std::all_of(node.parts.begin(), node.parts.end(), IsAssertion);
      case Kind::kAlternatives:
        return std::any_of(node.parts.begin(), node.parts.end(), IsAssertion);
      default:
        return false;
    }
  }

  RegexCursor cursor_;
  Options options_;
  bool names_groups_ = false;
  int depth_ = 0;
  char32_t folded_character_ = 0;  // of the atom just read, where it is one whose case is ignored
};

}  // namespace

Result<RegexNode> ParseRegex(std::string_view pattern) {
  if (!IsValidUtf8(pattern)) {
    return Status::InvalidArgument("it is not UTF-8");
  }
  return RegexParser(pattern).Run();
}

}  // namespace assay::data
