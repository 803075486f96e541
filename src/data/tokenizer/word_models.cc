#include "data/tokenizer/word_models.h"

#include <algorithm>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

bool AppendIfKnown(int32_t id, std::vector<int32_t>* ids) {
  if (id != kNoToken) {
    ids->push_back(id);
  }
  return id != kNoToken;
}

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

bool WordPieceModel::Encode(std::string_view word, ModelScratch*, std::vector<int32_t>* ids) const {
  const size_t before = ids->size();
  bool known = CountCharacters(word) <= options_.max_characters;
  for (size_t begin = 0; known && begin < word.size();) {
    std::string candidate = begin > 0 ? options_.continuing_subword_prefix : std::string();
    const size_t prefix = candidate.size();
    candidate += word.substr(begin);
    int32_t id = kNoToken;
    while (candidate.size() > prefix && (id = vocabulary_.Find(candidate)) == kNoToken) {
      candidate.resize(PreviousUtf8(candidate, candidate.size()));
    }
    known = AppendIfKnown(id, ids);
    begin += candidate.size() - prefix;
  }
  if (!known) {
    ids->resize(before);
    return AppendIfKnown(vocabulary_.Find(unknown_token_), ids);
  }
  return true;
}

bool WordLevelModel::Encode(std::string_view word, ModelScratch*, std::vector<int32_t>* ids) const {
  const int32_t id = vocabulary_.Find(word);
  return AppendIfKnown(id != kNoToken ? id : vocabulary_.Find(unknown_token_), ids);
}

}  // namespace assay::data
