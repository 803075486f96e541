#include "data/tokenizer/added_tokens.h"

#include <algorithm>
#include <numeric>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

size_t TotalBytes(const std::vector<AddedTokenFinder::Pattern>& patterns) {
  return std::accumulate(patterns.begin(), patterns.end(), size_t{1},
                         [](size_t sum, const AddedTokenFinder::Pattern& p) { return sum + p.first.size(); });
}

bool HasClassAt(std::string_view text, size_t at, CharClass cls) {
  return at < text.size() && (CharClasses()[DecodeUtf8(text.data() + at).value] & cls) != 0;
}

bool HasClassBefore(std::string_view text, size_t end, CharClass cls) {
  return end > 0 && HasClassAt(text, PreviousUtf8(text, end), cls);
}

bool IsSingleWord(std::string_view text, size_t begin, size_t end) {
  return !HasClassBefore(text, begin, kWord) && !HasClassAt(text, end, kWord);
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const std::vector<Pattern>& patterns) : edges_(TotalBytes(patterns)) {
  node_tokens_.assign(1, kNoToken);
  for (const auto& [text, token] : patterns) {
    int32_t node = 0;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      PairTable::Value edge = edges_.Find(node, byte);
      if (edge.rank == PairTable::kMissing) {
        edge = {0, static_cast<int32_t>(node_tokens_.size())};
        edges_.Insert(node, byte, edge);
        node_tokens_.push_back(kNoToken);
      }
      node = edge.id;
    }
    if (node != 0 && node_tokens_[static_cast<size_t>(node)] == kNoToken) {
      node_tokens_[static_cast<size_t>(node)] = static_cast<int32_t>(tokens_.size());
      tokens_.push_back(token);
      first_bytes_[static_cast<unsigned char>(text[0])] = true;
    }
  }
  if (std::count(first_bytes_.begin(), first_bytes_.end(), true) == 1) {
    only_first_byte_ =
        static_cast<int>(std::find(first_bytes_.begin(), first_bytes_.end(), true) - first_bytes_.begin());
  }
}

size_t AddedTokenFinder::FindFirstByte(std::string_view text, size_t from) const {
  if (only_first_byte_ >= 0) {
    return std::min(text.size(), text.find(static_cast<char>(only_first_byte_), from));
  }
  while (from < text.size() && !first_bytes_[static_cast<unsigned char>(text[from])]) {
    ++from;
  }
  return from;
}

bool AddedTokenFinder::FindNext(std::string_view text, size_t from, Match* match) const {
  for (size_t begin = FindFirstByte(text, from); begin < text.size(); begin = FindFirstByte(text, begin + 1)) {
    int32_t node = 0;
    int32_t found = kNoToken;
    for (size_t i = begin; i < text.size(); ++i) {
      const PairTable::Value edge = edges_.Find(node, static_cast<unsigned char>(text[i]));
      if (edge.rank == PairTable::kMissing) {
        break;
      }
      node = edge.id;
      if (node_tokens_[static_cast<size_t>(node)] != kNoToken) {
        found = node_tokens_[static_cast<size_t>(node)];
        match->end = i + 1;
      }
    }
    if (found != kNoToken) {
      match->begin = begin;
      match->token = &tokens_[static_cast<size_t>(found)];
      return true;
    }
  }
  return false;
}

bool AddedTokenFinder::ForEachPart(std::string_view text,
                                   const std::function<bool(std::string_view, int32_t)>& on_part) const {
  size_t done = 0;
  Match match{};
  for (size_t from = 0; !empty() && FindNext(text, from, &match); from = match.end) {
    const AddedToken& token = *match.token;
    if (token.single_word && !IsSingleWord(text, match.begin, match.end)) {
      continue;
    }
    size_t begin = match.begin;
    size_t end = match.end;
    while (token.lstrip && begin > done && HasClassBefore(text, begin, kSpace)) {
      begin = PreviousUtf8(text, begin);
    }
    while (token.rstrip && HasClassAt(text, end, kSpace)) {
      end += Utf8Length(text[end]);
    }
    if (done < begin && !on_part(text.substr(done, begin - done), kNoToken)) {
      return false;
    }
    if (!on_part(text.substr(begin, end - begin), token.id)) {
      return false;
    }
    done = end;
  }
  return done >= text.size() || on_part(text.substr(done), kNoToken);
}

}  // namespace assay::data
