#include "data/passages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/split_mix.h"
#include "base/text.h"

namespace assay::data {
namespace {

/// One sentence and what parts it from the one before: a space, or a blank line at the start of a paragraph.
struct Sentence {
  std::string text;
  bool starts_paragraph;
};

std::vector<std::string> Paragraphs(const std::string& text) {
  std::vector<std::string> paragraphs;
  std::string paragraph;
  for (const std::string& line : Split(text + "\n", '\n')) {
    const std::string_view words = Trim(line);
    if (!words.empty()) {
      if (!paragraph.empty()) {
        paragraph += ' ';
      }
      paragraph += words;
    } else if (!paragraph.empty()) {
      paragraphs.push_back(std::move(paragraph));
      paragraph.clear();
    }
  }
  return paragraphs;
}

/// Chapter numbers, titles and "THE END" do not end as sentences do.
bool IsHeading(const std::string& paragraph) {
  return paragraph.size() < 80 && std::string_view(".!?\"'-;:,").find(paragraph.back()) == std::string_view::npos;
}

bool EndsWithTitle(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTitles = {"Mr.", "Mrs.", "Dr.", "St.", "Messrs."};
  return std::ranges::any_of(kTitles, [text](std::string_view title) {
    return text.ends_with(title) && (text.size() == title.size() ||
                                     !std::isalpha(static_cast<unsigned char>(text[text.size() - title.size() - 1])));
  });
}

/// Stop, question or exclamation mark, then closing quotes.
bool EndsWithStop(std::string_view text) {
  const size_t last = text.find_last_not_of("\"')_");
  return last != std::string_view::npos && std::string_view(".!?").find(text[last]) != std::string_view::npos &&
         !EndsWithTitle(text);
}

bool SentenceEndsAt(std::string_view text, size_t space) {
  return EndsWithStop(text.substr(0, space)) && !std::islower(static_cast<unsigned char>(text[space + 1]));
}

void AppendSentences(const std::string& paragraph, std::vector<Sentence>& sentences) {
  size_t begin = 0;
  for (size_t space = paragraph.find(' ', 1); space != std::string::npos; space = paragraph.find(' ', space + 1)) {
    if (SentenceEndsAt(paragraph, space)) {
      sentences.push_back({paragraph.substr(begin, space - begin), begin == 0});
      begin = space + 1;
    }
  }
  sentences.push_back({paragraph.substr(begin), begin == 0});
}

Passage Part(const std::string& text, uint64_t random) {
  const size_t wanted = 80 + (random >> 32) % 151;
  const size_t space = text.find_first_of(" \n", std::min(wanted, text.size() / 2));
  const size_t resume = text.find_first_not_of(" \n", space);
  return {text.substr(0, space), text.substr(resume)};
}

}  // namespace

std::vector<Passage> CutIntoPassages(const Corpus& corpus) {
  std::vector<Passage> passages;
  for (const Corpus::Book& book : corpus.books) {
    std::vector<Sentence> sentences;
    for (const std::string& paragraph : Paragraphs(book.text)) {
      if (!IsHeading(paragraph)) {
        AppendSentences(paragraph, sentences);
      }
    }
    std::string text;
    uint64_t random = SplitMix64(passages.size());
    for (const Sentence& sentence : sentences) {
      if (!text.empty()) {
        text += sentence.starts_paragraph ? "\n\n" : " ";
      }
      text += sentence.text;
      if (text.size() >= 250 + random % 2151 && EndsWithStop(sentence.text)) {
        passages.push_back(Part(text, random));
        text.clear();
        random = SplitMix64(passages.size());
      }
    }
  }
  return passages;
}

}  // namespace assay::data
