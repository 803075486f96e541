#include "data/tokenizer/component_json.h"
#include "data/tokenizer/json_fields.h"

namespace assay::data {
namespace {

using nlohmann::json;

// The pre-tokenisers of nested sequences in one list.
Status Flatten(const json& component, std::vector<const json*>* list) {
  ASSAY_ASSIGN_OR_RETURN(const std::string type, TypeOf(component));
  if (type != "Sequence") {
    list->push_back(&component);
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const json* parts, ListField(component, "pretokenizers"));
  for (const json& part : *parts) {
    ASSAY_RETURN_IF_ERROR(Flatten(part, list));
  }
  return Status::Ok();
}

Result<SplitBehavior> ReadBehavior(const json& component, std::string fallback) {
  ASSAY_ASSIGN_OR_RETURN(const std::string name, OptionalField(component, "behavior", std::move(fallback)));
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  for (const auto& [known, behavior] : kBehaviors) {
    if (known == name) {
      return behavior;
    }
  }
  return Status::Unsupported(fmt::format("behavior '{}' is not supported", name));
}

Result<PrependScheme> ReadScheme(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const bool add_prefix_space, OptionalField(component, "add_prefix_space", true));
  ASSAY_ASSIGN_OR_RETURN(const std::string name, OptionalField<std::string>(component, "prepend_scheme",
                                                                            add_prefix_space ? "always" : "never"));
  if (name == "never") {
    return PrependScheme::kNever;
  }
  if (name == "first") {
    return PrependScheme::kFirst;
  }
  return name == "always" ? Result<PrependScheme>(PrependScheme::kAlways)
                          : Status::Unsupported(fmt::format("prepend_scheme '{}' is not supported", name));
}

// Reads a flat list of pre-tokenisers, one after the other, into steps and at the end a splitter.
class Builder {
 public:
  Builder(std::vector<const json*> list, bool model_takes_bytes)
      : list_(std::move(list)), model_takes_bytes_(model_takes_bytes) {}

  Result<ReadPreTokenizerResult> Run() {
    for (; at_ < list_.size(); ++at_) {
      ASSAY_ASSIGN_OR_RETURN(const std::string type, TypeOf(*list_[at_]));
      const Status status = Add(type, *list_[at_]);
      if (!status.ok()) {
        return status.WithContext(fmt::format("pre_tokenizer {}", type));
      }
    }
    return std::move(result_);
  }

 private:
  Status Add(const std::string& type, const json& component) {
    if (type == "ByteLevel") {
      return AddByteLevel(component);
    }
    if (type == "Split") {
      return AddSplit(component);
    }
    if (type == "Digits") {
      return AddDigits(component);
    }
    if (type == "Metaspace") {
      return AddMetaspace(component);
    }
    if (type == "Punctuation") {
      ASSAY_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(component, "Isolated"));
      return AddStep(MakeClassSplit(kPunctuation, behavior));
    }
    if (type == "CharDelimiterSplit") {
      ASSAY_ASSIGN_OR_RETURN(std::string delimiter, CharacterField(component, "delimiter"));
      return AddStep(MakeDelimiterSplit(std::move(delimiter), SplitBehavior::kRemoved));
    }
    if (type == "FixedLength") {
      ASSAY_ASSIGN_OR_RETURN(const int64_t length, OptionalField<int64_t>(component, "length", 5));
      return length > 0 ? AddStep(MakeFixedLengthStep(static_cast<size_t>(length)))
                        : Status::InvalidArgument(fmt::format("length {} is not positive", length));
    }
    if (type == "Whitespace") {
      return AddStep(MakeWhitespaceStep());
    }
    if (type == "WhitespaceSplit") {
      return AddStep(MakeClassSplit(kSpace, SplitBehavior::kRemoved));
    }
    if (type == "BertPreTokenizer") {
      (void)AddStep(MakeClassSplit(kSpace, SplitBehavior::kRemoved));
      return AddStep(MakeClassSplit(kPunctuation, SplitBehavior::kIsolated));
    }
    return Status::Unsupported("is not supported");
  }

  Status AddStep(StepPtr step) {
    FlushSplitter();
    result_.pre_tokenizer.steps.push_back(std::move(step));
    return Status::Ok();
  }

  // A splitter may only be the last part; what comes after it makes it a step.
  void AddSplitter(std::unique_ptr<const Splitter> splitter) {
    FlushSplitter();
    result_.pre_tokenizer.splitter = std::move(splitter);
  }
  void FlushSplitter() {
    if (result_.pre_tokenizer.splitter != nullptr) {
      result_.pre_tokenizer.steps.push_back(MakeSplitterStep(std::move(result_.pre_tokenizer.splitter)));
    }
  }

  Status AddByteLevel(const json& component) {
    ASSAY_ASSIGN_OR_RETURN(const bool prefix, OptionalField(component, "add_prefix_space", true));
    ASSAY_ASSIGN_OR_RETURN(const bool use_regex, OptionalField(component, "use_regex", true));
    if (prefix) {
      (void)AddStep(MakePrefixSpaceStep());
    }
    if (use_regex) {
      AddSplitter(MakeSplitter(kGpt2Pattern));
    }
    return AddByteAlphabet();
  }

  Status AddByteAlphabet() {
    if (at_ + 1 == list_.size() && model_takes_bytes_) {
      result_.byte_level = true;
      return Status::Ok();
    }
    return AddStep(MakeByteAlphabetStep());
  }

  Status AddDigits(const json& component) {
    ASSAY_ASSIGN_OR_RETURN(const bool individual, OptionalField(component, "individual_digits", false));
    if (individual && NextIsPlainByteLevel()) {
      ++at_;
      AddSplitter(MakeGpt2DigitsSplitter());
      return AddByteAlphabet();
    }
    return AddStep(MakeClassSplit(kNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  }

  // Whether a ByteLevel that only applies its pattern comes next.
  bool NextIsPlainByteLevel() const {
    if (at_ + 1 >= list_.size()) {
      return false;
    }
    const json& next = *list_[at_ + 1];
    return next.value("type", "") == "ByteLevel" && !next.value("add_prefix_space", true) &&
           next.value("use_regex", true);
  }

  Status AddSplit(const json& component) {
    ASSAY_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(component, ""));
    ASSAY_ASSIGN_OR_RETURN(const bool invert, OptionalField(component, "invert", false));
    const json pattern = component.value("pattern", json::object());
    if (pattern.contains("String")) {
      ASSAY_ASSIGN_OR_RETURN(const std::string text, RequiredField<std::string>(pattern, "String"));
      ASSAY_ASSIGN_OR_RETURN(Regex regex, Regex::Literal(text));
      return AddStep(MakeRegexSplit(std::move(regex), behavior, invert));
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string expression, RequiredField<std::string>(pattern, "Regex"));
    // A known pattern matches all of the text, so that isolated matches are the same as an inverted pattern's gaps
    // removed.
    const bool keeps_matches = invert ? behavior == SplitBehavior::kRemoved : behavior == SplitBehavior::kIsolated;
    if (std::unique_ptr<const Splitter> splitter = keeps_matches ? MakeSplitter(expression) : nullptr) {
      AddSplitter(std::move(splitter));
      return Status::Ok();
    }
    ASSAY_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(expression));
    return AddStep(MakeRegexSplit(std::move(regex), behavior, invert));
  }

  Status AddMetaspace(const json& component) {
    ASSAY_ASSIGN_OR_RETURN(std::string replacement, CharacterField(component, "replacement"));
    ASSAY_ASSIGN_OR_RETURN(const PrependScheme scheme, ReadScheme(component));
    ASSAY_ASSIGN_OR_RETURN(const bool split, OptionalField(component, "split", true));
    return AddStep(MakeMetaspaceStep(std::move(replacement), scheme, split));
  }

  std::vector<const json*> list_;
  bool model_takes_bytes_;
  size_t at_ = 0;
  ReadPreTokenizerResult result_;
};

}  // namespace

Result<ReadPreTokenizerResult> ReadPreTokenizer(const json& component, bool model_takes_bytes) {
  std::vector<const json*> list;
  const Status status = Flatten(component, &list);
  if (!status.ok()) {
    return status.WithContext("pre_tokenizer");
  }
  return Builder(std::move(list), model_takes_bytes).Run();
}

}  // namespace assay::data
