#include "data/tokenizer/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/splitter.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

using Pair = std::pair<int32_t, int32_t>;

struct PairHash {
  size_t operator()(const Pair& pair) const {
    const uint64_t key =
        static_cast<uint64_t>(static_cast<uint32_t>(pair.first)) << 32 | static_cast<uint32_t>(pair.second);
    return (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL >> 16;
  }
};

// A word of the texts: how often it comes, and its present tokens.
struct Word {
  int64_t count;
  std::vector<int32_t> tokens;
};

// A pair that may be merged, with the words it was found in.
struct Candidate {
  int64_t count;
  Pair pair;
  std::vector<uint32_t> words;

  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

// The words of `texts` in a fixed order.
std::vector<std::pair<std::string_view, int64_t>> CountWords(std::span<const std::string> texts) {
  const auto splitter = MakeGpt2DigitsSplitter();
  std::unordered_map<std::string_view, int64_t> counts;
  std::array<size_t, 256> ends;
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t found = splitter->Next(text, begin, ends);
      for (size_t i = 0; i < found; ++i) {
        ++counts[std::string_view(text).substr(begin, ends[i] - begin)];
        begin = ends[i];
      }
    }
  }
  std::vector<std::pair<std::string_view, int64_t>> words(counts.begin(), counts.end());
  std::sort(words.begin(), words.end());
  return words;
}

// The algorithm of Sennrich et al. 2016 with the book-keeping of the `tokenizers` library: a pair that comes back after
// its candidate was queued gets a second candidate of its own, for the words it came back in, and is merged twice. The
// rank of its last merge counts. Nothing is gained by it, but the same merges come out.
class Trainer {
 public:
  explicit Trainer(const BpeTrainerOptions& options) : options_(options) {
    for (const std::string& token : options.special_tokens) {
      AddToken(token);
    }
    // Bytes in the order of their characters.
    std::map<std::string, unsigned char> alphabet;
    for (int byte = 0; byte < 256; ++byte) {
      alphabet[ToByteAlphabet(std::string(1, static_cast<char>(byte)))] = static_cast<unsigned char>(byte);
    }
    for (const auto& [character, byte] : alphabet) {
      byte_ids_[byte] = AddToken(character);
    }
  }

  void Train(std::span<const std::string> texts) {
    ReadWords(texts);
    QueueFound();
    while (static_cast<int64_t>(tokens_.size()) < options_.vocab_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const int64_t count = pair_counts_[top.pair];
      if (top.count != count) {
        top.count = count;
        queue_.push(std::move(top));
        continue;
      }
      if (count < 1 || count < options_.min_frequency) {
        break;
      }
      Merge(top);
    }
  }

  const std::vector<std::string>& tokens() const { return tokens_; }

  /// Every merge once, by its last rank.
  std::vector<Pair> Merges() const {
    std::unordered_map<Pair, size_t, PairHash> last;
    for (size_t rank = 0; rank < merges_.size(); ++rank) {
      last[merges_[rank]] = rank;
    }
    std::vector<Pair> unique;
    for (size_t rank = 0; rank < merges_.size(); ++rank) {
      if (last[merges_[rank]] == rank) {
        unique.push_back(merges_[rank]);
      }
    }
    return unique;
  }

 private:
  int32_t AddToken(const std::string& token) {
    const auto [entry, added] = ids_.try_emplace(token, static_cast<int32_t>(tokens_.size()));
    if (added) {
      tokens_.push_back(token);
    }
    return entry->second;
  }

  void ReadWords(std::span<const std::string> texts) {
    for (const auto& [text, count] : CountWords(texts)) {
      Word word{count, {}};
      for (const char byte : text) {
        word.tokens.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
      }
      const auto index = static_cast<uint32_t>(words_.size());
      for (size_t i = 0; i + 1 < word.tokens.size(); ++i) {
        Count({word.tokens[i], word.tokens[i + 1]}, count, index);
      }
      words_.push_back(std::move(word));
    }
  }

  // Counts a pair found `change` times more, or fewer, in word `index`.
  void Count(const Pair& pair, int64_t change, uint32_t index) {
    pair_counts_[pair] += change;
    if (change > 0) {
      std::vector<uint32_t>& words = found_[pair];
      if (words.empty() || words.back() != index) {
        words.push_back(index);
      }
    }
  }

  void QueueFound() {
    for (auto& [pair, words] : found_) {
      if (const int64_t count = pair_counts_[pair]; count > 0) {
        queue_.push({count, pair, std::move(words)});
      }
    }
    found_.clear();
  }

  void Merge(const Candidate& candidate) {
    const auto [a, b] = candidate.pair;
    const int32_t merged = AddToken(tokens_[static_cast<size_t>(a)] + tokens_[static_cast<size_t>(b)]);
    merges_.push_back(candidate.pair);
    for (const uint32_t index : candidate.words) {
      MergeInWord(candidate.pair, merged, index);
    }
    QueueFound();
  }

  void MergeInWord(const Pair& pair, int32_t merged, uint32_t index) {
    const int64_t count = words_[index].count;
    std::vector<int32_t>& tokens = words_[index].tokens;
    size_t kept = 0;  // tokens[0, kept) are done
    for (size_t i = 0; i < tokens.size();) {
      if (tokens[i] != pair.first || i + 1 == tokens.size() || tokens[i + 1] != pair.second) {
        tokens[kept++] = tokens[i++];
        continue;
      }
      if (kept > 0) {
        Count({tokens[kept - 1], pair.first}, -count, index);
        Count({tokens[kept - 1], merged}, count, index);
      }
      if (i + 2 < tokens.size()) {
        Count({pair.second, tokens[i + 2]}, -count, index);
        Count({merged, tokens[i + 2]}, count, index);
      }
      tokens[kept++] = merged;
      i += 2;
    }
    tokens.resize(kept);
  }

  const BpeTrainerOptions& options_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::array<int32_t, 256> byte_ids_{};
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t, PairHash> pair_counts_;
  std::unordered_map<Pair, std::vector<uint32_t>, PairHash> found_;  // pairs that wait for QueueFound, with their words
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> merges_;
};

std::string Quoted(const std::string& text) {
  return DumpJson(text);
}

std::string AddedTokensJson(const std::vector<std::string>& special_tokens) {
  std::vector<std::string> rows;
  for (size_t id = 0; id < special_tokens.size(); ++id) {
    rows.push_back(fmt::format(
        R"(    {{"id": {}, "content": {}, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}})",
        id, Quoted(special_tokens[id])));
  }
  return Join(rows, ",\n");
}

// The layout of the `tokenizers` library's own files, with a token and a merge to a line.
std::string WriteJson(const Trainer& trainer, const std::vector<std::string>& special_tokens) {
  const std::vector<std::string>& tokens = trainer.tokens();
  std::vector<std::string> vocab;
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocab.push_back(fmt::format("      {}: {}", Quoted(tokens[id]), id));
  }
  std::vector<std::string> merges;
  for (const auto& [a, b] : trainer.Merges()) {
    merges.push_back(
        fmt::format("      [{}, {}]", Quoted(tokens[static_cast<size_t>(a)]), Quoted(tokens[static_cast<size_t>(b)])));
  }
  return fmt::format(R"({{
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [
{}
  ],
  "normalizer": null,
  "pre_tokenizer": {{
    "type": "Sequence",
    "pretokenizers": [
      {{"type": "Digits", "individual_digits": true}},
      {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}}
    ]
  }},
  "post_processor": null,
  "decoder": {{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}},
  "model": {{
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {{
{}
    }},
    "merges": [
{}
    ]
  }}
}}
)",
                     AddedTokensJson(special_tokens), Join(vocab, ",\n"), Join(merges, ",\n"));
}

}  // namespace

Result<std::string> TrainByteLevelBpe(std::span<const std::string> texts, const BpeTrainerOptions& options) {
  const auto smallest = static_cast<int64_t>(options.special_tokens.size()) + 256;
  if (options.vocab_size < smallest) {
    return Status::InvalidArgument(
        fmt::format("cannot train a tokeniser of {} tokens: {} special tokens and 256 bytes "
                    "need at least {}",
                    options.vocab_size, options.special_tokens.size(), smallest));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!IsValidUtf8(texts[i])) {
      return Status::InvalidArgument(fmt::format("cannot train a tokeniser: text {} is not UTF-8", i));
    }
  }
  Trainer trainer(options);
  trainer.Train(texts);
  return WriteJson(trainer, options.special_tokens);
}

}  // namespace assay::data
