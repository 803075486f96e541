#include "data/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "data/tokenizer/tokenizer_parts.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// Words cut from the text at a time, so that scanning and looking up each stay in a tight loop.
constexpr size_t kBatch = 128;

void AppendId(int32_t id, EncodeContext* context) {
  if (context->count == context->ids.size()) {
    context->ids.resize(2 * context->ids.size() + 64);
  }
  context->ids[context->count++] = id;
}

void Reserve(size_t more, EncodeContext* context) {
  if (context->count + more > context->ids.size()) {
    context->ids.resize(2 * context->ids.size() + more);
  }
}

}  // namespace

std::optional<int32_t> TokenizerParts::FindToken(std::string_view token) const {
  const int32_t id = added.Find(token);
  const int32_t found = id != kNoToken ? id : model->vocabulary().Find(token);
  return found == kNoToken ? std::nullopt : std::optional<int32_t>(found);
}

bool TokenizerParts::EncodeWord(std::string_view word, const char* text_end, EncodeContext* context) const {
  context->word_ids.clear();
  if (!model->Encode(word, &context->scratch, &context->word_ids)) {
    context->failure = Status::InvalidArgument(
        "cannot tokenise the text: a character is not in the vocabulary, and the tokeniser has no unknown token for "
        "it");
    return false;
  }
  const size_t count = context->word_ids.size();
  Reserve(count + kBatch * WordCache::kMaxIds, context);
  std::copy(context->word_ids.begin(), context->word_ids.end(), context->ids.data() + context->count);
  context->count += count;
  context->cache.Add(word, text_end, context->word_ids);
  return true;
}

bool TokenizerParts::EncodePiece(const Piece& piece, EncodeContext* context) const {
  const std::string_view text = piece.text;
  const char* text_end = text.data() + text.size();
  std::array<size_t, kBatch> ends;
  for (size_t begin = 0; begin < text.size();) {
    size_t count = 1;
    ends[0] = text.size();
    if (pre_tokenizer.splitter != nullptr) {
      count = pre_tokenizer.splitter->Next(text, begin, ends);
    }
    Reserve(kBatch * WordCache::kMaxIds, context);
    for (size_t i = 0; i < count; ++i) {
      const std::string_view word = text.substr(begin, ends[i] - begin);
      const size_t known = context->cache.Find(word, text_end, context->ids.data() + context->count);
      context->count += known;
      if (known == 0 && !EncodeWord(word, text_end, context)) {
        return false;
      }
      begin = ends[i];
    }
  }
  return true;
}

bool TokenizerParts::EncodePart(std::string_view part, bool at_start, EncodeContext* context) const {
  context->pieces.assign(1, {part, at_start});
  for (const StepPtr& step : pre_tokenizer.steps) {
    context->next_pieces.clear();
    for (const Piece& piece : context->pieces) {
      context->failure = step->Apply(piece, &context->arena, &context->next_pieces);
      if (!context->failure.ok()) {
        return false;
      }
    }
    context->pieces.swap(context->next_pieces);
    if (context->arena.bytes() > context->most_bytes) {
      context->failure = Status::InvalidArgument(
          fmt::format("cannot tokenise the text: the tokeniser's pre_tokenizer makes more than {} bytes of it",
                      context->most_bytes));
      return false;
    }
  }
  return std::all_of(context->pieces.begin(), context->pieces.end(),
                     [&](const Piece& piece) { return EncodePiece(piece, context); });
}

bool TokenizerParts::EncodeText(std::string_view text, EncodeContext* context) const {
  return raw_finder->ForEachPart(text, [&](std::string_view part, int32_t id) {
    if (id != kNoToken) {
      AppendId(id, context);
      return true;
    }
    size_t first = 1;
    const bool at_start = part.data() == text.data();
    if (normalizer != nullptr) {
      NormalizedText normalized(part);
      context->failure = normalizer->Apply(&normalized);
      if (!context->failure.ok()) {
        return false;
      }
      first = normalized.first;
      part = context->arena.Keep(std::move(normalized.bytes));
    }
    return EncodeNormalized(part, at_start ? first : 0, context);
  });
}

bool TokenizerParts::EncodeNormalized(std::string_view text, size_t first, EncodeContext* context) const {
  return normalized_finder->ForEachPart(text, [&](std::string_view part, int32_t id) {
    if (id != kNoToken) {
      AppendId(id, context);
      return true;
    }
    return EncodePart(part, static_cast<size_t>(part.data() - text.data()) < first, context);
  });
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text, bool add_special_tokens) const {
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = RepairUtf8(text);
    text = repaired;
  }
  std::unique_ptr<EncodeContext> context = parts_->contexts.Take();
  context->count = 0;
  context->most_bytes = MostBytesFrom(text.size());
  const bool encoded = parts_->EncodeText(text, context.get());
  std::vector<int32_t> ids;
  if (encoded) {
    const PostProcessor none;
    const PostProcessor& around = add_special_tokens ? parts_->post_processor : none;
    ids.reserve(around.before.size() + context->count + around.after.size());
    ids.insert(ids.end(), around.before.begin(), around.before.end());
    ids.insert(ids.end(), context->ids.begin(), context->ids.begin() + static_cast<ptrdiff_t>(context->count));
    ids.insert(ids.end(), around.after.begin(), around.after.end());
  }
  context->arena.Clear();
  const Status failure = encoded ? Status::Ok() : std::exchange(context->failure, Status::Ok());
  parts_->contexts.Return(std::move(context));
  return failure.ok() ? Result<std::vector<int32_t>>(std::move(ids)) : failure;
}

Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int32_t id : ids) {
    const auto normalized = parts_->normalized_added.find(id);
    const std::string* token = parts_->added.Token(id);
    token = normalized != parts_->normalized_added.end() ? &normalized->second : token;
    token = token == nullptr ? parts_->model->vocabulary().Token(id) : token;
    if (token != nullptr && !(skip_special_tokens && parts_->special_contents.contains(*token))) {
      tokens.push_back(*token);
    }
  }
  const char* separator = parts_->decoder == nullptr ? " " : "";
  if (parts_->decoder != nullptr) {
    ASSAY_RETURN_IF_ERROR(parts_->decoder->Apply(&tokens));
  }
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    text += i == 0 ? "" : separator;
    text += tokens[i];
  }
  return text;
}

int64_t Tokenizer::vocab_size() const {
  return std::max(parts_->model->vocabulary().id_limit(), parts_->added.id_limit());
}

std::optional<std::string> Tokenizer::Token(int32_t id) const {
  const std::string* token = parts_->added.Token(id);
  token = token == nullptr ? parts_->model->vocabulary().Token(id) : token;
  return token == nullptr ? std::nullopt : std::optional<std::string>(*token);
}

const SpecialTokens& Tokenizer::special_tokens() const {
  return parts_->special_tokens;
}

}  // namespace assay::data
