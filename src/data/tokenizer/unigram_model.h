// The unigram language model of SentencePiece.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer/model.h"
#include "data/tokenizer/pair_table.h"

namespace assay::data {

/// Kudo 2018, decoded by Viterbi as SentencePiece's EncodeOptimized does: the cut of a word with the highest sum of
/// scores. A character no piece starts with counts as unknown, ten below the lowest score; runs of them are one token.
class UnigramModel final : public Model {
 public:
  /// `pieces` are tokens with their scores, the id being the index. Fails when there are none, or `unknown_id` is
  /// outside. With `byte_fallback` unknown text becomes tokens <0xHH>, when all of them exist.
  static Result<std::unique_ptr<const UnigramModel>> Create(const std::vector<std::pair<std::string, double>>& pieces,
                                                            std::optional<int32_t> unknown_id, bool byte_fallback);

  bool Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const override;

 private:
  UnigramModel(Vocabulary vocabulary, std::string unknown_token, std::vector<double> scores, PairTable edges);
  static Vocabulary Index(const std::vector<std::pair<std::string, double>>& pieces);
  void BuildTrie(const std::vector<std::pair<std::string, double>>& pieces);
  bool FindBestPath(std::string_view word, ModelScratch* scratch) const;
  bool AppendUnknown(std::string_view text, std::vector<int32_t>* ids) const;

  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_id_ = kNoToken;
  bool byte_fallback_ = false;
  PairTable edges_;                   // (node, byte) to node
  std::vector<int32_t> node_tokens_;  // node to the token that ends there, or kNoToken
  std::array<int32_t, 256> byte_ids_;
};

}  // namespace assay::data
