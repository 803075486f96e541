// A source in blocks of whole records.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "shards/convert/parquet/parquet_stream.h"
#include "shards/convert/sources.h"
#include "shards/dataset/place.h"
#include "storage/transfers.h"

namespace assay::shards {

/// Some records that follow one another. JsonRowReader::kPaddingBytes behind the text may be read. Of drawn rows there
/// is no text, but their number; of Parquet the columns.
struct RowBlock {
  Blob owner;
  std::string_view text;
  int64_t offset = 0;  ///< in the source
  int64_t rows = 0;    ///< of drawn ones
  int64_t source = 0;  ///< which of all
  std::shared_ptr<const ColumnBatch> columns{};

  /// What it is of its source's size.
  int64_t source_size() const {
    return columns ? columns->source_bytes : rows > 0 ? rows : static_cast<int64_t>(text.size());
  }
};

/// Reads a source from an offset on, at which a record begins. A file is read where it lies; of a remote store some
/// ranges are fetched ahead. Belongs to one thread.
class BlockReader {
 public:
  /// `source` and `transfers` must outlive it. `columns`: of Parquet, which alone are read, and as what; none: all.
  static Result<BlockReader> Open(const SourceFile& source, storage::Transfers& transfers, int64_t offset,
                                  std::span<const Column> columns = {});
  BlockReader(BlockReader&&) = default;
  BlockReader& operator=(BlockReader&&) = delete;
  ~BlockReader();

  /// Nothing at the end. A record of more than 1 GiB is refused.
  Result<std::optional<RowBlock>> Next();

 private:
  struct Range {
    NewBlob blob;
    std::shared_ptr<storage::Transfer> transfer;
  };

  BlockReader(const SourceFile& source, storage::Transfers& transfers, int64_t offset);
  /// Makes `text_` at least `bytes` long, or as long as the source goes.
  Status Fill(size_t bytes);
  void FetchAhead();
  /// Where the last whole record within the first `within` bytes of `text_` ends; 0: there is none.
  Result<size_t> EndOfRecords(size_t within) const;
  bool at_end() const { return offset_ + static_cast<int64_t>(text_.size()) == source_->info.size; }
  RowBlock Cut(size_t bytes);
  std::optional<RowBlock> NextDrawn();
  Result<std::optional<RowBlock>> NextColumns();

  const SourceFile* source_;
  storage::Transfers* transfers_;
  int64_t offset_;                        // of text_ in the source
  Blob file_;                             // of a file: all of it
  std::string_view text_;                 // what is there and was not given yet
  std::shared_ptr<std::string> fetched_;  // of a remote source: what text_ shows
  std::deque<Range> ahead_;
  int64_t asked_;  // up to where
  std::optional<ParquetStream> parquet_;
};

}  // namespace assay::shards
