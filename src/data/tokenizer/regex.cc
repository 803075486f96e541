#include "data/tokenizer/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "data/tokenizer/regex_alphabet.h"
#include "data/tokenizer/regex_syntax.h"
#include "data/tokenizer/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace assay::data {
namespace {

using Kind = RegexNode::Kind;

// The library gives up on a match after as many attempts.
constexpr uint32_t kMatchLimit = 10'000'000;
// What one search may keep of the ways that it has not tried yet.
constexpr uint32_t kHeapLimitKib = 256 << 10;
constexpr size_t kFirstJitStack = size_t{32} << 10;
constexpr size_t kLargestJitStack = size_t{1} << 20;

void CollectSets(const RegexNode& node, std::vector<const CodePointSet*>* sets) {
  if (node.kind == Kind::kSet) {
    sets->push_back(&node.set);
  }
  for (const RegexNode& part : node.parts) {
    CollectSets(part, sets);
  }
}

bool MisleadsSearch(const RegexNode& node) {
  return (node.kind == Kind::kLookAround && !node.behind && !node.negated) || node.kind == Kind::kAtomic ||
         std::any_of(node.parts.begin(), node.parts.end(), MisleadsSearch);
}

// Before it matches, PCRE2 searches for a character that must come first and for one that must come after it. Of
// (?=b)a?b it takes the one 'b' for both (10.42), and finds nothing in "b"; of (?>.+?bc*)a its JIT finds nothing in
// "xbba".
uint32_t OptionsOf(const RegexNode& tree) {
  return PCRE2_DOTALL | (MisleadsSearch(tree) ? PCRE2_NO_START_OPTIMIZE : 0);
}

// Writes a tree in PCRE2's syntax, over the symbols of an alphabet.
class Writer {
 public:
  explicit Writer(const RegexAlphabet& alphabet) : alphabet_(alphabet) {}

  std::string Write(const RegexNode& node) const {
    switch (node.kind) {
      case Kind::kSet:
        return WriteSet(node.set);
      case Kind::kSequence:
        return Join(node.parts, "");
      case Kind::kAlternatives:
        return fmt::format("(?:{})", Join(node.parts, "|"));
      case Kind::kRepeat:
        return WriteRepeat(node);
      case Kind::kAtomic:
        return fmt::format("(?>{})", Write(node.parts[0]));
      case Kind::kLookAround:
        return WriteLookAround(node);
      case Kind::kTextBegin:
        return R"(\A)";
      case Kind::kTextEnd:
        return R"(\z)";
      case Kind::kSearchBegin:
        return R"(\G)";
    }
    return "";
  }

 private:
  std::string Join(const std::vector<RegexNode>& parts, std::string_view separator) const {
    std::string joined;
    for (const RegexNode& part : parts) {
      joined += &part == parts.data() ? "" : separator;
      joined += Write(part);
    }
    return joined;
  }

  std::string WriteSet(const CodePointSet& set) const {
    const std::vector<uint8_t> symbols = alphabet_.Symbols(set);
    if (symbols.empty()) {
      return R"([^\x00-\xff])";
    }
    std::string members;
    for (const uint8_t symbol : symbols) {
      members += fmt::format("\\x{:02x}", symbol);
    }
    return symbols.size() == 1 ? members : symbols.size() == alphabet_.size() ? "." : fmt::format("[{}]", members);
  }

  std::string WriteRepeat(const RegexNode& node) const {
    const RegexNode& part = node.parts[0];
    const std::string body = part.kind == Kind::kSet ? WriteSet(part.set) : fmt::format("(?:{})", Write(part));
    const char* greed = node.greed == RegexNode::Greed::kLazy         ? "?"
                        : node.greed == RegexNode::Greed::kPossessive ? "+"
                                                                      : "";
    const std::string max = node.max == kUnlimited ? "" : std::to_string(node.max);
    return fmt::format("{}{{{},{}}}{}", body, node.min, max, greed);
  }

  std::string WriteLookAround(const RegexNode& node) const {
    // Looking behind, PCRE2 takes alternatives of different lengths where no group is around them.
    const RegexNode& part = node.parts[0];
    const std::string body = part.kind == Kind::kAlternatives ? Join(part.parts, "|") : Write(part);
    return fmt::format("(?{}{}{})", node.behind ? "<" : "", node.negated ? "!" : "=", body);
  }

  const RegexAlphabet& alphabet_;
};

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};

using MatchData = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;

MatchData CreateMatchData() {
  return MatchData(pcre2_match_data_create(1, nullptr));
}

// What matching needs beside the pattern, one for every thread.
class MatchMemory {
 public:
  static MatchMemory& OfThread() {
    thread_local MatchMemory memory;
    return memory;
  }
  pcre2_match_data* data() const { return data_.get(); }
  pcre2_match_context* context() const { return context_.get(); }

 private:
  MatchMemory() {
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  MatchData data_ = CreateMatchData();
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context_{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>> stack_{
      pcre2_jit_stack_create(kFirstJitStack, kLargestJitStack, nullptr)};
};

std::string Pcre2Message(int error) {
  char message[128];
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
  return message;
}

// Turns places in symbols into places in the text they stand for; places only grow.
class PlaceInText {
 public:
  explicit PlaceInText(std::string_view text) : text_(text) {}

  size_t Of(size_t symbol) {
    for (; symbol_ < symbol; ++symbol_) {
      byte_ += Utf8Length(text_[byte_]);
    }
    return byte_;
  }

 private:
  std::string_view text_;
  size_t symbol_ = 0;
  size_t byte_ = 0;
};

}  // namespace

struct Regex::Code {
  std::string pattern;  // as given
  RegexAlphabet alphabet;
  std::shared_ptr<pcre2_code> code;

  static Result<Code> Compile(std::string_view pattern, const RegexNode& tree);
  // The first match from `from` on, as its begin and end.
  Result<std::optional<std::pair<size_t, size_t>>> Match(std::string_view symbols, size_t from) const;
};

Result<Regex::Code> Regex::Code::Compile(std::string_view pattern, const RegexNode& tree) {
  std::vector<const CodePointSet*> sets;
  CollectSets(tree, &sets);
  ASSAY_ASSIGN_OR_RETURN(RegexAlphabet alphabet, RegexAlphabet::Create(sets));
  const std::string written = Writer(alphabet).Write(tree);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(written.data()), written.size(), OptionsOf(tree),
                                   &error, &offset, nullptr);
  if (code == nullptr) {
    return Status::Unsupported(fmt::format("what PCRE2 cannot do: {}", Pcre2Message(error)));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without a JIT, pcre2_match interprets the same code
  return Code{std::string(pattern), std::move(alphabet), {code, &pcre2_code_free}};
}

Result<std::optional<std::pair<size_t, size_t>>> Regex::Code::Match(std::string_view symbols, size_t from) const {
  const MatchMemory& memory = MatchMemory::OfThread();
  pcre2_match_data* data = memory.data();
  const auto search = [&](uint32_t options) {
    return pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(symbols.data()), symbols.size(), from, options, data,
                       memory.context());
  };
  int result = search(0);
  MatchData large;  // what the interpreter takes from the heap stays with its data
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    large = CreateMatchData();
    data = large.get();
    result = search(PCRE2_NO_JIT);
  }
  if (result >= 0) {
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
    return std::optional(std::pair<size_t, size_t>(bounds[0], bounds[1]));
  }
  if (result == PCRE2_ERROR_NOMATCH) {
    return std::optional<std::pair<size_t, size_t>>();
  }
  return Status::InvalidArgument(fmt::format("cannot search {} characters with the regular expression '{}': {}",
                                             symbols.size(), pattern, Pcre2Message(result)));
}

Result<Regex> Regex::Compile(std::string_view pattern) {
  const Result<RegexNode> tree = ParseRegex(pattern);
  if (!tree.ok() && tree.status().code() == ErrorCode::kInvalidArgument) {
    return Status::InvalidArgument(
        fmt::format("regular expression '{}' does not compile: {}", pattern, tree.status().message()));
  }
  Result<Code> code = tree.ok() ? Code::Compile(pattern, *tree) : Result<Code>(tree.status());
  if (!code.ok()) {
    return Status::Unsupported(
        fmt::format("regular expression '{}' uses {}, which is not supported", pattern, code.status().message()));
  }
  return Regex(std::make_shared<const Code>(*std::move(code)));
}

Result<Regex> Regex::Literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view(R"(\.+*?()|[]{}^$)").find(c) != std::string_view::npos) {
      pattern += '\\';
    }
    pattern += c;
  }
  return Compile(pattern);
}

Status Regex::ForEachMatch(std::string_view text, const std::function<void(size_t, size_t)>& on_match) const {
  const std::string symbols = code_->alphabet.Translate(text);
  PlaceInText place(text);
  size_t at = 0;
  size_t last_end = std::string_view::npos;
  while (!text.empty() && at <= symbols.size()) {
    ASSAY_ASSIGN_OR_RETURN(const auto match, code_->Match(symbols, at));
    if (!match) {
      break;
    }
    const auto [begin, end] = *match;
    if (begin == end && end == last_end) {
      ++at;
      continue;
    }
    at = last_end = end;
    const size_t begin_byte = place.Of(begin);
    on_match(begin_byte, place.Of(end));
  }
  return Status::Ok();
}

}  // namespace assay::data
