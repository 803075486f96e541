#include "data/tokenize_rows.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "data/row_encoder.h"
#include "data/token_file.h"

namespace assay::data {
namespace {

/// Rows held in memory at once. A row of the longest data sets is a megabyte of text.
constexpr int64_t kBatchRows = 64;

/// The encoder, and what it has seen so far.
class BatchEncoder {
 public:
  BatchEncoder(const RowSource& rows, const TokenizeOptions& options) : rows_(rows), options_(options) {}

  /// Encodes `count` rows from `first` on and appends them to `writer`.
  Status Run(int64_t first, int64_t count, TokenFileWriter& writer) {
    std::vector<std::optional<Result<Row>>> read(count);
    ParallelFor(count, options_.threads, [&](int64_t i) { read[i].emplace(rows_.Read(first + i)); });
    for (const auto& row : read) {
      ASSAY_RETURN_IF_ERROR(row->status());
      const bool is_text = (*row)->kind != RowKind::kTokens;
      if (is_text && options_.tokenizer_dir.empty() && !options_.no_tokenizer.empty()) {
        return Status::InvalidArgument(options_.no_tokenizer).WithContext(rows_.Where(first + (&row - read.data())));
      }
      ASSAY_RETURN_IF_ERROR(Prepare((*row)->kind));
    }
    std::vector<std::optional<Result<TokenRow>>> encoded(count);
    ParallelFor(count, options_.threads, [&](int64_t i) { encoded[i].emplace(encoder_->Encode(**read[i])); });
    for (int64_t i = 0; i < count; ++i) {
      if (!encoded[i]->ok()) {
        return encoded[i]->status().WithContext(rows_.Where(first + i));
      }
      ASSAY_RETURN_IF_ERROR(writer.Append(**encoded[i]));
      NoteIds(**encoded[i]);
    }
    return Status::Ok();
  }

  int64_t vocab_size() const { return vocab_size_; }

 private:
  /// Makes the encoder; with a tokeniser as soon as one is needed.
  Status Prepare(RowKind kind) {
    const bool needs_tokenizer = kind != RowKind::kTokens && !options_.tokenizer_dir.empty();
    if (encoder_ && (has_tokenizer_ || !needs_tokenizer)) {
      return Status::Ok();
    }
    has_tokenizer_ = needs_tokenizer;
    ASSAY_ASSIGN_OR_RETURN(RowEncoder encoder, RowEncoder::Open(needs_tokenizer ? options_.tokenizer_dir : "",
                                                                options_.response_template, options_.max_tokens));
    encoder_.emplace(std::move(encoder));
    vocab_size_ = std::max(vocab_size_, encoder_->vocab_size());
    return Status::Ok();
  }

  void NoteIds(const TokenRow& row) {
    vocab_size_ = std::max<int64_t>({vocab_size_, *std::ranges::max_element(row.ids) + int64_t{1},
                                     *std::ranges::max_element(row.labels) + int64_t{1}});
  }

  const RowSource& rows_;
  const TokenizeOptions& options_;
  std::optional<RowEncoder> encoder_;
  bool has_tokenizer_ = false;
  int64_t vocab_size_ = 1;
};

}  // namespace

Status TokenizeRows(const RowSource& rows, const TokenizeOptions& options, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(TokenFileWriter writer, TokenFileWriter::Create(path));
  BatchEncoder encoder(rows, options);
  for (int64_t first = 0; first < rows.size(); first += kBatchRows) {
    ASSAY_RETURN_IF_ERROR(encoder.Run(first, std::min(kBatchRows, rows.size() - first), writer));
  }
  return writer.Finish(encoder.vocab_size());
}

}  // namespace assay::data
