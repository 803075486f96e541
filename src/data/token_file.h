// Tokenised rows on disk, mapped into memory by any number of readers: the form in which data reaches a worker.
//
// Layout (little endian): 8 bytes magic "ASSAYTOK", u32 version, u32 vocab_size, u64 rows, u64 tokens,
// i64 offsets[rows + 1], i32 ids[tokens], i32 labels[tokens]. Labels equal ids where a token is supervised and are
// -100 where it is masked; they are not shifted. Rows are kept whole; a reader cuts them to its own maximum length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::data {

inline constexpr int32_t kMaskedLabel = -100;

/// One tokenised row; `labels` is as long as `ids`.
struct TokenRow {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;
};

/// A view of one row inside a TokenFile; valid as long as the file object lives.
struct TokenRowView {
  std::span<const int32_t> ids;
  std::span<const int32_t> labels;
};

/// Writes rows to `path` atomically: a temporary file in the same folder, renamed when complete.
Status WriteTokenFile(const std::string& path, std::span<const TokenRow> rows, int64_t vocab_size);

/// A mapped token file. Immutable and safe to read from several threads.
class TokenFile {
 public:
  /// Fails with one line when the file is missing, truncated, of another version or not a token file.
  static Result<TokenFile> Open(const std::string& path);

  int64_t rows() const;
  int64_t tokens() const;
  int64_t vocab_size() const;  ///< of the tokeniser (or largest id + 1 for pre-tokenised rows)

  /// Row `index`, cut to `max_length` tokens.
  TokenRowView row(int64_t index, int64_t max_length) const;

 private:
  struct Mapping;
  explicit TokenFile(std::shared_ptr<const Mapping> mapping) : mapping_(std::move(mapping)) {}
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace assay::data
