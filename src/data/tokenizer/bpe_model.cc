#include "data/tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// Up to this many symbols a scan for the lowest rank beats a heap.
constexpr size_t kShortWord = 48;
constexpr uint32_t kNone = UINT32_MAX;

// Merges the symbols of a long word, kept as a linked list, with a heap of the pairs that can be merged.
class LongWord {
 public:
  LongWord(const PairTable& merges, ModelScratch* scratch) : merges_(merges), s_(*scratch) {
    const auto count = static_cast<uint32_t>(s_.ids.size());
    s_.ranks.resize(count);
    s_.merged.resize(count);
    s_.next.resize(count);
    s_.previous.resize(count);
    s_.heap.clear();
    for (uint32_t i = 0; i < count; ++i) {
      s_.next[i] = i + 1 < count ? i + 1 : kNone;
      s_.previous[i] = i > 0 ? i - 1 : kNone;
      LookUp(i);
    }
    std::make_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
  }

  void MergeAll() {
    while (!s_.heap.empty()) {
      std::pop_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
      const uint64_t top = s_.heap.back();
      s_.heap.pop_back();
      const auto at = static_cast<uint32_t>(top);
      if (s_.ranks[at] == top >> 32) {  // else the pair at this place has changed since
        MergeWithNext(at);
      }
    }
    std::erase(s_.ids, kNoToken);
  }

 private:
  // Finds the merge of the symbol at `at` with the next one. True when there is one, now last in the heap's memory.
  bool LookUp(uint32_t at) {
    const uint32_t next = s_.next[at];
    const PairTable::Value value =
        next == kNone ? PairTable::Value{PairTable::kMissing, 0} : merges_.Find(s_.ids[at], s_.ids[next]);
    s_.ranks[at] = value.rank;
    s_.merged[at] = value.id;
    if (value.rank == PairTable::kMissing) {
      return false;
    }
    s_.heap.push_back(static_cast<uint64_t>(value.rank) << 32 | at);
    return true;
  }

  void Update(uint32_t at) {
    if (LookUp(at)) {
      std::push_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
    }
  }

  void MergeWithNext(uint32_t at) {
    const uint32_t right = s_.next[at];
    s_.ids[at] = s_.merged[at];
    s_.ids[right] = kNoToken;
    s_.ranks[right] = PairTable::kMissing;
    s_.next[at] = s_.next[right];
    if (s_.next[at] != kNone) {
      s_.previous[s_.next[at]] = at;
    }
    Update(at);
    if (s_.previous[at] != kNone) {
      Update(s_.previous[at]);
    }
  }

  const PairTable& merges_;
  ModelScratch& s_;
};

}  // namespace

Result<std::unique_ptr<const BpeModel>> BpeModel::Create(Vocabulary vocabulary, const std::vector<Merge>& merges,
                                                         BpeOptions options) {
  PairTable table(merges.size());
  std::vector<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(merges.size());
  const size_t prefix = options.continuing_subword_prefix.size();
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    if (right.size() < prefix) {
      return Status::InvalidArgument(fmt::format("merge {} ('{}' '{}') lacks the subword prefix '{}'", rank, left,
                                                 right, options.continuing_subword_prefix));
    }
    const std::string merged = left + right.substr(prefix);
    const int32_t a = vocabulary.Find(left);
    const int32_t b = vocabulary.Find(right);
    const int32_t id = vocabulary.Find(merged);
    if (a == kNoToken || b == kNoToken || id == kNoToken) {
      return Status::InvalidArgument(
          fmt::format("merge {} ('{}' '{}') needs the token '{}', which is not in the vocabulary", rank, left, right,
                      a == kNoToken   ? left
                      : b == kNoToken ? right
                                      : merged));
    }
    table.Insert(a, b, {static_cast<uint32_t>(rank), id});
    pairs.emplace_back(a, b);
  }
  return std::unique_ptr<const BpeModel>(
      new BpeModel(std::move(vocabulary), std::move(options), std::move(table), std::move(pairs)));
}

BpeModel::BpeModel(Vocabulary vocabulary, BpeOptions options, PairTable merges,
                   std::vector<std::pair<int32_t, int32_t>> pairs)
    : Model(std::move(vocabulary), options.unknown_token),
      options_(std::move(options)),
      merges_(std::move(merges)),
      pairs_(std::move(pairs)) {
  IndexBytes();
}

void BpeModel::IndexBytes() {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.Find(options_.byte_level ? ToByteAlphabet(std::string(1, static_cast<char>(byte)))
                                                           : fmt::format("<0x{:02X}>", byte));
  }
  if (!options_.byte_level || !options_.ignore_merges) {
    return;
  }
  for (int32_t id = 0; id < vocabulary_.id_limit(); ++id) {
    const std::string* token = vocabulary_.Token(id);
    if (std::optional<std::string> bytes = token == nullptr ? std::nullopt : FromByteAlphabet(*token)) {
      raw_words_.Add(*std::move(bytes), id);
    }
  }
}

bool BpeModel::MayCutBefore(std::string_view separator) const {
  if (options_.byte_level || options_.ignore_merges || !options_.continuing_subword_prefix.empty() ||
      !options_.end_of_word_suffix.empty() || vocabulary_.Find(separator) == kNoToken) {
    return false;
  }
  return std::none_of(pairs_.begin(), pairs_.end(), [&](const std::pair<int32_t, int32_t>& pair) {
    return vocabulary_.Token(pair.second)->starts_with(separator) &&
           !vocabulary_.Token(pair.first)->ends_with(separator);
  });
}

bool BpeModel::Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const {
  if (options_.ignore_merges) {
    const int32_t id = (options_.byte_level ? raw_words_ : vocabulary_).Find(word);
    if (id != kNoToken) {
      ids->push_back(id);
      return true;
    }
  }
  scratch->ids.clear();
  if (options_.byte_level) {
    for (const char byte : word) {
      scratch->ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    }
  } else if (!AppendCharacters(word, &scratch->ids)) {
    return false;
  }
  if (scratch->ids.size() > kShortWord) {
    LongWord(merges_, scratch).MergeAll();
  } else {
    scratch->ids.resize(MergeShort(scratch->ids.data(), scratch->ids.size(), scratch));
  }
  ids->insert(ids->end(), scratch->ids.begin(), scratch->ids.end());
  return true;
}

// `word`'s character from `begin` to `end` as the vocabulary writes it; `buffer` holds it where it has to be made.
std::string_view BpeModel::Written(std::string_view word, size_t begin, size_t end, std::string* buffer) const {
  const std::string_view character = word.substr(begin, end - begin);
  const bool prefix = begin != 0 && !options_.continuing_subword_prefix.empty();
  const bool suffix = end == word.size() && !options_.end_of_word_suffix.empty();
  if (!prefix && !suffix) {
    return character;
  }
  *buffer = prefix ? options_.continuing_subword_prefix : std::string();
  buffer->append(character);
  buffer->append(suffix ? options_.end_of_word_suffix : std::string());
  return *buffer;
}

bool BpeModel::AppendCharacters(std::string_view word, std::vector<int32_t>* ids) const {
  const int32_t unknown = vocabulary_.Find(options_.unknown_token);
  // An unknown token waits to be fused with those that follow it, until the next known character. Bytes of a fallback
  // do not end the wait, so they come before it, as in the reference.
  bool waiting = false;
  std::string buffer;
  for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    end = begin + Utf8Length(word[begin]);
    const std::string_view character = Written(word, begin, end, &buffer);
    const int32_t id = vocabulary_.Find(character);
    if (id == kNoToken && options_.byte_fallback && AppendFallback(character, ids)) {
      continue;
    }
    if (id == kNoToken && options_.unknown_token.empty()) {
      continue;
    }
    if (id == kNoToken && unknown == kNoToken) {
      return false;
    }
    if (waiting && (id != kNoToken || !options_.fuse_unknown)) {
      ids->push_back(unknown);
    }
    waiting = id == kNoToken;
    if (id != kNoToken) {
      ids->push_back(id);
    }
  }
  if (waiting) {
    ids->push_back(unknown);
  }
  return true;
}

bool BpeModel::AppendFallback(std::string_view character, std::vector<int32_t>* ids) const {
  const size_t before = ids->size();
  for (const char byte : character) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNoToken) {
      ids->resize(before);
      return false;
    }
    ids->push_back(id);
  }
  return true;
}

size_t BpeModel::MergeShort(int32_t* ids, size_t count, ModelScratch* scratch) const {
  if (count < 2) {
    return count;
  }
  scratch->ranks.resize(count);
  scratch->merged.resize(count);
  uint32_t* ranks = scratch->ranks.data();
  int32_t* merged = scratch->merged.data();
  const auto look_up = [&](size_t i) {
    const PairTable::Value value = merges_.Find(ids[i], ids[i + 1]);
    ranks[i] = value.rank;
    merged[i] = value.id;
  };
  for (size_t i = 0; i + 1 < count; ++i) {
    look_up(i);
  }
  while (count > 1) {
    const size_t at = static_cast<size_t>(std::min_element(ranks, ranks + count - 1) - ranks);
    if (ranks[at] == PairTable::kMissing) {
      break;
    }
    ids[at] = merged[at];
    std::copy(ids + at + 2, ids + count, ids + at + 1);
    if (at + 2 < count) {
      std::copy(ranks + at + 2, ranks + count - 1, ranks + at + 1);
      std::copy(merged + at + 2, merged + count - 1, merged + at + 1);
    }
    --count;
    if (at + 1 < count) {
      look_up(at);
    }
    if (at > 0) {
      look_up(at - 1);
    }
  }
  return count;
}

}  // namespace assay::data
