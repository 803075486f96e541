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
                      a == kNoToken ? left : b == kNoToken ? right : merged));
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

bool BpeModel::NeverMergesBefore(std::string_view separator) const {
  if (!options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty() ||
      vocabulary_.Find(separator) == kNoToken) {
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
    MergeLong(scratch);
  } else {
    scratch->ids.resize(MergeShort(scratch->ids.data(), scratch->ids.size(), scratch));
  }
  ids->insert(ids->end(), scratch->ids.begin(), scratch->ids.end());
  return true;
}

bool BpeModel::AppendCharacters(std::string_view word, std::vector<int32_t>* ids) const {
  const int32_t unknown = options_.unknown_token.empty() ? kNoToken : vocabulary_.Find(options_.unknown_token);
  // An unknown token that waits: fused with those that follow it, and written only before the next known character.
  // Bytes of a fallback do not write it, so they come before it, as in the reference.
  bool waiting = false;
  std::string decorated;
  for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    end = begin + Utf8Length(word[begin]);
    std::string_view character = word.substr(begin, end - begin);
    const bool prefix = begin != 0 && !options_.continuing_subword_prefix.empty();
    const bool suffix = end == word.size() && !options_.end_of_word_suffix.empty();
    if (prefix || suffix) {
      decorated = prefix ? options_.continuing_subword_prefix : "";
      decorated += character;
      decorated += suffix ? options_.end_of_word_suffix : "";
      character = decorated;
    }
    const int32_t id = vocabulary_.Find(character);
    if (id != kNoToken) {
      if (waiting) {
        ids->push_back(unknown);
        waiting = false;
      }
      ids->push_back(id);
    } else if (!(options_.byte_fallback && AppendFallback(character, ids)) && !options_.unknown_token.empty()) {
      if (unknown == kNoToken) {
        return false;
      }
      if (waiting && !options_.fuse_unknown) {
        ids->push_back(unknown);
      }
      waiting = true;
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
    std::copy(ranks + at + 2, ranks + count - 1, ranks + at + 1);
    std::copy(merged + at + 2, merged + count - 1, merged + at + 1);
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

void BpeModel::MergeLong(ModelScratch* scratch) const {
  std::vector<int32_t>& ids = scratch->ids;
  const size_t count = ids.size();
  scratch->ranks.assign(count, PairTable::kMissing);
  scratch->merged.resize(count);
  scratch->next.resize(count);
  scratch->previous.resize(count);
  std::vector<uint64_t>& heap = scratch->heap;
  heap.clear();
  const auto look_up = [&](uint32_t i) {
    const uint32_t next = scratch->next[i];
    const PairTable::Value value =
        next == kNone ? PairTable::Value{PairTable::kMissing, 0} : merges_.Find(ids[i], ids[next]);
    scratch->ranks[i] = value.rank;
    scratch->merged[i] = value.id;
    if (value.rank != PairTable::kMissing) {
      heap.push_back(static_cast<uint64_t>(value.rank) << 32 | i);
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    scratch->next[i] = i + 1 < count ? i + 1 : kNone;
    scratch->previous[i] = i > 0 ? i - 1 : kNone;
    look_up(i);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto update = [&](uint32_t i) {
    const size_t before = heap.size();
    look_up(i);
    if (heap.size() != before) {
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t top = heap.back();
    heap.pop_back();
    const auto at = static_cast<uint32_t>(top);
    if (scratch->ranks[at] != top >> 32) {
      continue;  // the pair at this place has changed since
    }
    const uint32_t right = scratch->next[at];
    ids[at] = scratch->merged[at];
    ids[right] = kNoToken;
    scratch->ranks[right] = PairTable::kMissing;
    scratch->next[at] = scratch->next[right];
    if (scratch->next[at] != kNone) {
      scratch->previous[scratch->next[at]] = at;
    }
    update(at);
    if (scratch->previous[at] != kNone) {
      update(scratch->previous[at]);
    }
  }
  std::erase(ids, kNoToken);
}

}  // namespace assay::data
