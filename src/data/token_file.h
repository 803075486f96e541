// Tokenised rows on disk, mapped into memory by any number of readers: the form in which data reaches a worker.
//
// Layout (little endian, every section a multiple of 8 bytes):
//   header   8 bytes magic "ASSAYTOK", u32 version, u32 zero
//   rows     one after the other: i32 ids[n], i32 labels[n]
//   index    i64 offsets[rows + 1] (in tokens), i64 lines[rows]
//   trailer  u64 rows, u64 tokens, i64 vocab_size, 8 bytes magic "ASSAYEND"
// The index stands behind the rows so that a writer needs no more memory than one row. Labels are those of the row's
// kind (see rows.h): the token's id where it is supervised, -100 where it is masked; they are not shifted. Rows are
// kept whole; a reader cuts them to its own maximum length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace assay::data {

inline constexpr int32_t kMaskedLabel = -100;

/// One tokenised row; `labels` is as long as `ids`.
struct TokenRow {
  std::vector<int32_t> ids = {};
  std::vector<int32_t> labels = {};
  int64_t line = 0;  ///< of the file it came from, from 1; 0: none
};

/// A view of one row inside a TokenFile; valid as long as the file object lives.
struct TokenRowView {
  std::span<const int32_t> ids;
  std::span<const int32_t> labels;
  int64_t line = 0;  ///< as in TokenRow
};

/// Writes a token file row by row under a temporary name; nothing stands at `path` before Finish() has succeeded.
class TokenFileWriter {
 public:
  static Result<TokenFileWriter> Create(const std::string& path);

  /// `row` must have at least one token and as many labels as tokens.
  Status Append(const TokenRow& row);

  /// Writes the index, syncs, and renames the file to its final name.
  Status Finish(int64_t vocab_size);

  int64_t rows() const { return static_cast<int64_t>(lines_.size()); }
  int64_t tokens() const { return offsets_.back(); }

 private:
  explicit TokenFileWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  std::vector<int64_t> offsets_ = {0};
  std::vector<int64_t> lines_;
};

/// Writes `rows` to `path` atomically: a temporary file in the same folder, renamed when complete.
Status WriteTokenFile(const std::string& path, std::span<const TokenRow> rows, int64_t vocab_size);

/// A mapped token file. Immutable and safe to read from several threads.
class TokenFile {
 public:
  /// Fails with one line when the file is missing, truncated, of another version or not a token file. Every count and
  /// offset is checked against the size of the file; the ids themselves are not read.
  static Result<TokenFile> Open(const std::string& path);

  int64_t rows() const;
  int64_t tokens() const;
  int64_t vocab_size() const;  ///< of the tokeniser (or largest id + 1 for pre-tokenised rows)

  /// Row `index`, cut to `max_length` tokens.
  TokenRowView row(int64_t index, int64_t max_length) const;

  /// Reads every id and label: fails when one lies outside the vocabulary (and is not kMaskedLabel).
  Status CheckIds() const;

 private:
  struct Mapping;
  explicit TokenFile(std::shared_ptr<const Mapping> mapping) : mapping_(std::move(mapping)) {}
  std::shared_ptr<const Mapping> mapping_;
};

/// How many rows bear no loss when they are cut to `max_length` tokens: none behind the first position is supervised.
/// Such a row is trained on with the others, as the reference does, and adds nothing to the loss. FailedPrecondition
/// where all rows are such; it names `source` and says how long rows would have to be.
Result<int64_t> CountUnsupervisedRows(const TokenFile& file, int64_t max_length, std::string_view source);

}  // namespace assay::data
