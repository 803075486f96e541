#include "data/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/normalizer.h"

namespace assay::data {
namespace {

// A stretch of text, either a match of the delimiter or what stands between two.
struct Segment {
  size_t begin;
  size_t end;
  bool match;
};

// Collects matches, given in order, and the gaps between them.
class Segments {
 public:
  explicit Segments(std::string_view text) : text_(text) {}

  void AddMatch(size_t begin, size_t end) {
    AddGap(begin);
    list_.push_back({begin, end, true});
    done_ = end;
  }
  std::vector<Segment> Finish() {
    AddGap(text_.size());
    return std::move(list_);
  }

 private:
  void AddGap(size_t end) {
    if (done_ != end) {
      list_.push_back({done_, end, false});
    }
  }

  std::string_view text_;
  size_t done_ = 0;
  std::vector<Segment> list_;
};

// Joins segments where `join(previous is a match, this is a match)` says so.
template <typename Join>
std::vector<Segment> JoinSegments(const std::vector<Segment>& segments, const Join& join) {
  std::vector<Segment> joined;
  bool previous = false;
  for (const Segment& segment : segments) {
    if (!joined.empty() && join(previous, segment.match)) {
      joined.back().end = std::max(joined.back().end, segment.end);
      joined.back().begin = std::min(joined.back().begin, segment.begin);
    } else {
      joined.push_back({segment.begin, segment.end, false});
    }
    previous = segment.match;
  }
  return joined;
}

std::vector<Segment> ApplyBehavior(std::vector<Segment> segments, SplitBehavior behavior) {
  const auto starts_match = [](bool previous, bool match) { return match && !previous; };
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(segments, [](const Segment& segment) { return segment.match; });
      return segments;
    case SplitBehavior::kIsolated:
      return segments;
    case SplitBehavior::kContiguous:
      return JoinSegments(segments, [](bool previous, bool match) { return previous == match; });
    case SplitBehavior::kMergedWithPrevious:
      return JoinSegments(segments, starts_match);
    case SplitBehavior::kMergedWithNext:
      std::reverse(segments.begin(), segments.end());
      segments = JoinSegments(segments, starts_match);
      std::reverse(segments.begin(), segments.end());
      return segments;
  }
  return segments;
}

void AppendPieces(const Piece& piece, std::vector<Segment> segments, SplitBehavior behavior,
                  std::vector<Piece>* pieces) {
  for (const Segment& segment : ApplyBehavior(std::move(segments), behavior)) {
    if (segment.begin != segment.end) {
      pieces->push_back(
          {piece.text.substr(segment.begin, segment.end - segment.begin), piece.at_start && segment.begin == 0});
    }
  }
}

class RegexSplit final : public PreTokenizerStep {
 public:
  RegexSplit(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    Segments segments(piece.text);
    ASSAY_RETURN_IF_ERROR(
        pattern_.ForEachMatch(piece.text, [&](size_t begin, size_t end) { segments.AddMatch(begin, end); }));
    std::vector<Segment> list = segments.Finish();
    for (Segment& segment : list) {
      segment.match = segment.match != invert_;
    }
    AppendPieces(piece, std::move(list), behavior_, pieces);
    return Status::Ok();
  }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class SplitterStep final : public PreTokenizerStep {
 public:
  explicit SplitterStep(std::unique_ptr<const Splitter> splitter) : splitter_(std::move(splitter)) {}

  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    std::array<size_t, 64> ends;
    size_t begin = 0;
    while (begin < piece.text.size()) {
      const size_t count = splitter_->Next(piece.text, begin, ends);
      for (size_t i = 0; i < count; ++i) {
        pieces->push_back({piece.text.substr(begin, ends[i] - begin), piece.at_start && begin == 0});
        begin = ends[i];
      }
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<const Splitter> splitter_;
};

class ClassSplit final : public PreTokenizerStep {
 public:
  ClassSplit(uint16_t classes, SplitBehavior behavior) : classes_(classes), behavior_(behavior) {}

  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    Segments segments(piece.text);
    const uint16_t* table = CharClasses();
    for (size_t i = 0; i < piece.text.size();) {
      const CodePoint c = DecodeUtf8(piece.text.data() + i);
      if ((table[c.value] & classes_) != 0) {
        segments.AddMatch(i, i + c.bytes);
      }
      i += c.bytes;
    }
    AppendPieces(piece, segments.Finish(), behavior_, pieces);
    return Status::Ok();
  }

 private:
  uint16_t classes_;
  SplitBehavior behavior_;
};

void AppendDelimited(const Piece& piece, std::string_view delimiter, SplitBehavior behavior,
                     std::vector<Piece>* pieces) {
  Segments segments(piece.text);
  size_t at = piece.text.find(delimiter);
  while (at != std::string_view::npos) {
    segments.AddMatch(at, at + delimiter.size());
    at = piece.text.find(delimiter, at + delimiter.size());
  }
  AppendPieces(piece, segments.Finish(), behavior, pieces);
}

class DelimiterSplit final : public PreTokenizerStep {
 public:
  DelimiterSplit(std::string delimiter, SplitBehavior behavior)
      : delimiter_(std::move(delimiter)), behavior_(behavior) {}

  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    AppendDelimited(piece, delimiter_, behavior_, pieces);
    return Status::Ok();
  }

 private:
  std::string delimiter_;
  SplitBehavior behavior_;
};

class FixedLengthStep final : public PreTokenizerStep {
 public:
  explicit FixedLengthStep(size_t length) : length_(length) {}

  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    for (size_t begin = 0; begin < piece.text.size();) {
      size_t end = begin;
      for (size_t i = 0; i < length_ && end < piece.text.size(); ++i) {
        end += Utf8Length(piece.text[end]);
      }
      pieces->push_back({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
      begin = end;
    }
    return Status::Ok();
  }

 private:
  size_t length_;
};

class WhitespaceStep final : public PreTokenizerStep {
 public:
  Status Apply(const Piece& piece, TextArena*, std::vector<Piece>* pieces) const override {
    const uint16_t* table = CharClasses();
    const auto kind = [&](size_t i) { return table[DecodeUtf8(piece.text.data() + i).value] & (kWord | kSpace); };
    for (size_t begin = 0; begin < piece.text.size();) {
      const int first = kind(begin);
      size_t end = begin;
      while (end < piece.text.size() && kind(end) == first) {
        end += Utf8Length(piece.text[end]);
      }
      if (first != kSpace) {
        pieces->push_back({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
      }
      begin = end;
    }
    return Status::Ok();
  }
};

class MetaspaceStep final : public PreTokenizerStep {
 public:
  MetaspaceStep(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}

  Status Apply(const Piece& piece, TextArena* arena, std::vector<Piece>* pieces) const override {
    std::string text = ReplaceAll(piece.text, " ", replacement_);
    const bool prepend = scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && piece.at_start);
    if (prepend && !text.starts_with(replacement_)) {
      text.insert(0, replacement_);
    }
    const Piece made{arena->Keep(std::move(text)), piece.at_start};
    if (split_) {
      AppendDelimited(made, replacement_, SplitBehavior::kMergedWithNext, pieces);
    } else {
      pieces->push_back(made);
    }
    return Status::Ok();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class PrefixSpaceStep final : public PreTokenizerStep {
 public:
  Status Apply(const Piece& piece, TextArena* arena, std::vector<Piece>* pieces) const override {
    pieces->push_back(piece);
    if (!piece.text.starts_with(' ')) {
      pieces->back().text = arena->Keep(std::string(1, ' ').append(piece.text));
    }
    return Status::Ok();
  }
};

class ByteAlphabetStep final : public PreTokenizerStep {
 public:
  Status Apply(const Piece& piece, TextArena* arena, std::vector<Piece>* pieces) const override {
    pieces->push_back({arena->Keep(ToByteAlphabet(piece.text)), piece.at_start});
    return Status::Ok();
  }
};

}  // namespace

StepPtr MakeRegexSplit(Regex pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<RegexSplit>(std::move(pattern), behavior, invert);
}
StepPtr MakeSplitterStep(std::unique_ptr<const Splitter> splitter) {
  return std::make_unique<SplitterStep>(std::move(splitter));
}
StepPtr MakeClassSplit(uint16_t classes, SplitBehavior behavior) {
  return std::make_unique<ClassSplit>(classes, behavior);
}
StepPtr MakeDelimiterSplit(std::string delimiter, SplitBehavior behavior) {
  return std::make_unique<DelimiterSplit>(std::move(delimiter), behavior);
}
StepPtr MakeFixedLengthStep(size_t length) {
  return std::make_unique<FixedLengthStep>(length);
}
StepPtr MakeWhitespaceStep() {
  return std::make_unique<WhitespaceStep>();
}
StepPtr MakeMetaspaceStep(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<MetaspaceStep>(std::move(replacement), scheme, split);
}
StepPtr MakePrefixSpaceStep() {
  return std::make_unique<PrefixSpaceStep>();
}
StepPtr MakeByteAlphabetStep() {
  return std::make_unique<ByteAlphabetStep>();
}

}  // namespace assay::data
