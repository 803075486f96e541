#include "data/corpus.h"

#include <algorithm>
#include <array>

#include "base/files.h"

namespace assay::data {
namespace {

constexpr std::array<std::string_view, 6> kBooks = {"emma",       "mansfield_park",      "northanger_abbey",
                                                    "persuasion", "pride_and_prejudice", "sense_and_sensibility"};

bool IsSpace(char c) {
  return c == ' ' || c == '\n';
}

}  // namespace

Result<Corpus> LoadCorpus(const std::string& share_dir) {
  Corpus corpus;
  std::string all;
  for (const std::string_view name : kBooks) {
    auto text = ReadFile(share_dir + "/corpus/austen/" + std::string(name) + ".txt");
    if (!text.ok()) {
      return text.status().WithContext("the corpus of the synthetic data sets");
    }
    all += *text;
    corpus.books.push_back({std::string(name), *std::move(text)});
  }
  corpus.hash = Sha256Hex(all);
  return corpus;
}

WordRing::WordRing(const Corpus& corpus) {
  for (const Corpus::Book& book : corpus.books) {
    const std::string& text = book.text;
    for (size_t i = 0; i < text.size();) {
      if (IsSpace(text[i])) {
        ++i;
        continue;
      }
      const size_t begin = i;
      while (i < text.size() && !IsSpace(text[i])) {
        ++i;
      }
      if (!text_.empty()) {
        text_ += ' ';
      }
      begins_.push_back(text_.size());
      text_.append(text, begin, i - begin);
    }
  }
  for (size_t i = 0; i < text_.size(); ++i) {
    if ((static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80) {
      continuations_.push_back(i);
    }
  }
}

std::string WordRing::Words(int64_t first, int64_t count) const {
  std::string result;
  for (int64_t position = first % words(); count > 0; position = 0) {
    const int64_t taken = std::min(count, words() - position);
    const size_t begin = begins_[position];
    const size_t end = position + taken < words() ? begins_[position + taken] - 1 : text_.size();
    if (!result.empty()) {
      result += ' ';
    }
    result.append(text_, begin, end - begin);
    count -= taken;
  }
  return result;
}

size_t WordRing::ByteOfCharacter(int64_t index) const {
  auto byte = static_cast<size_t>(index);
  for (const size_t continuation : continuations_) {
    byte += continuation <= byte ? 1 : 0;
  }
  return byte;
}

std::string_view WordRing::Characters(int64_t first, int64_t count) const {
  const size_t begin = ByteOfCharacter(first);
  return std::string_view(text_).substr(begin, ByteOfCharacter(first + count) - begin);
}

}  // namespace assay::data
