#include "data/tokenizer/unigram_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

constexpr double kUnknownPenalty = 10.0;
constexpr uint32_t kUnreached = UINT32_MAX;

}  // namespace

Result<std::unique_ptr<const UnigramModel>> UnigramModel::Create(
    const std::vector<std::pair<std::string, double>>& pieces, std::optional<int32_t> unknown_id, bool byte_fallback) {
  if (unknown_id && (*unknown_id < 0 || static_cast<size_t>(*unknown_id) >= pieces.size())) {
    return Status::InvalidArgument(
        fmt::format("unk_id {} is outside the vocabulary of {} pieces", *unknown_id, pieces.size()));
  }
  size_t bytes = 0;
  std::vector<double> scores;
  scores.reserve(pieces.size());
  for (const auto& [piece, score] : pieces) {
    bytes += piece.size();
    scores.push_back(score);
  }
  std::unique_ptr<UnigramModel> model(
      new UnigramModel(Index(pieces), unknown_id ? pieces[static_cast<size_t>(*unknown_id)].first : std::string(),
                       std::move(scores), PairTable(bytes)));
  model->unknown_id_ = unknown_id.value_or(kNoToken);
  model->byte_fallback_ = byte_fallback;
  model->BuildTrie(pieces);
  return std::unique_ptr<const UnigramModel>(std::move(model));
}

UnigramModel::UnigramModel(Vocabulary vocabulary, std::string unknown_token, std::vector<double> scores,
                           PairTable edges)
    : Model(std::move(vocabulary), std::move(unknown_token)), scores_(std::move(scores)), edges_(std::move(edges)) {
  const auto lowest = std::min_element(scores_.begin(), scores_.end());
  unknown_score_ = (lowest == scores_.end() ? 0.0 : *lowest) - kUnknownPenalty;
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.Find(fmt::format("<0x{:02X}>", byte));
  }
}

Vocabulary UnigramModel::Index(const std::vector<std::pair<std::string, double>>& pieces) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < pieces.size(); ++id) {
    vocabulary.Add(pieces[id].first, static_cast<int32_t>(id));
  }
  return vocabulary;
}

void UnigramModel::BuildTrie(const std::vector<std::pair<std::string, double>>& pieces) {
  node_tokens_.assign(1, kNoToken);
  for (const auto& [piece, score] : pieces) {
    int32_t node = 0;
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      PairTable::Value edge = edges_.Find(node, byte);
      if (edge.rank == PairTable::kMissing) {
        edge = {0, static_cast<int32_t>(node_tokens_.size())};
        edges_.Insert(node, byte, edge);
        node_tokens_.push_back(kNoToken);
      }
      node = edge.id;
    }
    node_tokens_[static_cast<size_t>(node)] = vocabulary_.Find(piece);
  }
  node_tokens_[0] = kNoToken;
}

// Fills, for every byte offset, the score of the best cut that ends there, its last token and where that starts.
bool UnigramModel::FindBestPath(std::string_view word, ModelScratch* scratch) const {
  scratch->scores.assign(word.size() + 1, 0.0);
  scratch->best.assign(word.size() + 1, kNoToken);
  scratch->starts.assign(word.size() + 1, kUnreached);
  const auto offer = [&](size_t begin, size_t end, int32_t token, double score) {
    if (scratch->starts[end] == kUnreached || score > scratch->scores[end]) {
      scratch->scores[end] = score;
      scratch->best[end] = token;
      scratch->starts[end] = static_cast<uint32_t>(begin);
    }
  };
  for (size_t begin = 0; begin < word.size(); begin += Utf8Length(word[begin])) {
    const double before = scratch->scores[begin];
    const size_t after_character = begin + Utf8Length(word[begin]);
    bool has_character = false;
    int32_t node = 0;
    for (size_t i = begin; i < word.size(); ++i) {
      const PairTable::Value edge = edges_.Find(node, static_cast<unsigned char>(word[i]));
      if (edge.rank == PairTable::kMissing) {
        break;
      }
      node = edge.id;
      if (const int32_t token = node_tokens_[static_cast<size_t>(node)]; token != kNoToken) {
        offer(begin, i + 1, token, scores_[static_cast<size_t>(token)] + before);
        has_character = has_character || i + 1 == after_character;
      }
    }
    if (!has_character) {
      if (unknown_id_ == kNoToken) {
        return false;
      }
      offer(begin, after_character, unknown_id_, unknown_score_ + before);
    }
  }
  return true;
}

bool UnigramModel::Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const {
  if (!FindBestPath(word, scratch)) {
    return false;
  }
  // The path is known from its end; `next` keeps the offsets at which its tokens end, last one first.
  scratch->next.clear();
  for (size_t end = word.size(); end > 0; end = scratch->starts[end]) {
    scratch->next.push_back(static_cast<uint32_t>(end));
  }
  size_t unknown_begin = 0;
  size_t begin = 0;
  bool in_unknown = false;
  for (size_t i = scratch->next.size(); i-- > 0;) {
    const size_t end = scratch->next[i];
    const int32_t token = scratch->best[end];
    const bool unknown = token == unknown_id_;
    if (in_unknown && !unknown && !AppendUnknown(word.substr(unknown_begin, begin - unknown_begin), ids)) {
      return false;
    }
    unknown_begin = unknown && !in_unknown ? begin : unknown_begin;
    in_unknown = unknown;
    if (!unknown) {
      ids->push_back(token);
    }
    begin = end;
  }
  return !in_unknown || AppendUnknown(word.substr(unknown_begin), ids);
}

bool UnigramModel::AppendUnknown(std::string_view text, std::vector<int32_t>* ids) const {
  if (const int32_t id = vocabulary_.Find(text); id != kNoToken) {
    ids->push_back(id);
    return true;
  }
  const auto byte_id = [this](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (byte_fallback_ && std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) != kNoToken; })) {
    std::transform(text.begin(), text.end(), std::back_inserter(*ids), byte_id);
    return true;
  }
  ids->push_back(unknown_id_);
  return unknown_id_ != kNoToken;
}

}  // namespace assay::data
