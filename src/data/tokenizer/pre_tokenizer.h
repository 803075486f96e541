// The pre-tokenisers of tokenizer.json: how text is cut into words.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/regex.h"
#include "data/tokenizer/splitter.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {

/// A part of the text.
struct Piece {
  std::string_view text;
  bool at_start;  ///< nothing of the text stands before it
};

/// Text that steps made anew; pieces point into it.
class TextArena {
 public:
  std::string_view Keep(std::string text) {
    bytes_ += text.size();
    return texts_.emplace_back(std::move(text));
  }
  void Clear() {
    texts_.clear();
    bytes_ = 0;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
  std::deque<std::string> texts_;
};

/// One pre-tokeniser. Immutable, so safe from several threads.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  /// Appends what becomes of `piece`, which is not empty. An error comes from a regular expression that takes too many
  /// steps.
  virtual Status Apply(const Piece& piece, TextArena* arena, std::vector<Piece>* pieces) const = 0;
};

using StepPtr = std::unique_ptr<const PreTokenizerStep>;

/// What becomes of the matches of a delimiter.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
enum class PrependScheme { kAlways, kFirst, kNever };

StepPtr MakeRegexSplit(Regex pattern, SplitBehavior behavior, bool invert);
StepPtr MakeSplitterStep(std::unique_ptr<const Splitter> splitter);
/// Delimiters are the characters that have a class of `classes`.
StepPtr MakeClassSplit(uint16_t classes, SplitBehavior behavior);
StepPtr MakeDelimiterSplit(std::string delimiter, SplitBehavior behavior);
/// Pieces of `length` characters, more than 0.
StepPtr MakeFixedLengthStep(size_t length);
/// `\w+|[^\w\s]+`
StepPtr MakeWhitespaceStep();
StepPtr MakeMetaspaceStep(std::string replacement, PrependScheme scheme, bool split);
/// A space before a piece that does not start with one.
StepPtr MakePrefixSpaceStep();
/// Pieces written in the byte alphabet.
StepPtr MakeByteAlphabetStep();

/// All of a model's pre-tokenisers. Either of the two may be absent.
struct PreTokenizer {
  std::vector<StepPtr> steps;                ///< run one after the other
  std::unique_ptr<const Splitter> splitter;  ///< then cuts every piece into words
};

}  // namespace assay::data
