// Blocks of rows made into samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/convert/block_reader.h"
#include "shards/convert/row_tokens.h"
#include "shards/format/index.h"
#include "shards/format/sample_table.h"

namespace assay::shards {

/// What stands before the rows of a source.
struct SourceHead {
  std::vector<std::string> names{};  ///< of CSV and images: of its fields, in their order
  int64_t bytes = 0;                 ///< where its rows begin
  int64_t lines = 0;
};

/// A byte order mark is passed over. Of CSV an error names what is wrong with the names: none, empty or twice the same.
Result<SourceHead> ReadSourceHead(const SourceFile& source, storage::Transfers& transfers);

/// The samples of a block, in order.
struct EncodedBlock {
  std::string samples{};
  std::vector<SampleRecord> records{};
  std::vector<uint32_t> ends{};   ///< of each row, in the block: in bytes, or rows where offsets are
  std::vector<uint32_t> lines{};  ///< of the block, up to and with each row; rows where there are no lines
  int64_t line_count = 0;
  Status error{};          ///< of the first row that cannot be taken; the samples before it are there
  int64_t error_line = 0;  ///< of the block, from 0
};

/// Where a version of a data set begins.
struct VersionBegin {
  int64_t version = 1;
  int64_t samples = 0;  ///< that the versions before it have
};

/// Makes rows into samples of a schema. Immutable; safe from several threads.
class BlockEncoder {
 public:
  /// `strict`: a row with a field that is no column is an error. `begin`: so that no two samples of a data set that is
  /// appended to are called or drawn the same. `tokens`: columns of the schema that rows do not bring.
  BlockEncoder(std::shared_ptr<const ShardSchema> schema, bool strict, VersionBegin begin,
               std::optional<TokenColumns> tokens = {})
      : schema_(std::move(schema)), strict_(strict), begin_(begin), tokens_(std::move(tokens)) {}

  /// Fails where a column is none of the names of a source of CSV or images.
  Status CheckHead(const SourceFile& source, const SourceHead& head) const;
  /// Those that rows bring.
  const std::vector<Column>& brought() const { return tokens_ ? tokens_->brought() : schema_->columns; }
  /// Those that are read of a source of columns.
  const std::vector<Column>& read() const { return tokens_ ? tokens_->read() : schema_->columns; }
  /// Samples are put into `memory`.
  EncodedBlock Encode(const SourceFile& source, const SourceHead& head, const RowBlock& block,
                      std::string memory) const;

 private:
  void EncodeJsonLines(const RowBlock& block, EncodedBlock& out) const;
  void EncodeCsv(const SourceFile& source, const SourceHead& head, const RowBlock& block, EncodedBlock& out) const;
  void EncodeImage(const SourceFile& source, const RowBlock& block, EncodedBlock& out) const;
  void EncodeTar(const RowBlock& block, EncodedBlock& out) const;
  /// Puts the fields of a row that names its own into `row`, by column.
  Status PlaceFields(std::span<const std::string> names, const Row& fields, Row& row) const;
  void EncodeDrawn(const SyntheticRows& rows, const RowBlock& block, EncodedBlock& out) const;
  void EncodeColumns(const RowBlock& block, EncodedBlock& out) const;
  /// The tokens of row `number`, put into `row`; how many.
  Result<uint32_t> FillTokens(const ColumnBatch& batch, int64_t number, Row& row, RowTokens& made) const;
  /// Whether a source that has columns of these names has all that are wanted, and where it `must` no other.
  Status CheckColumns(const std::vector<std::string>& names, bool must) const;
  /// Where a row lies in its block.
  struct Extent {
    size_t begin;
    size_t end;
  };
  /// Appends `row`, of `tokens`; false where it cannot be taken.
  bool Take(const RowBlock& block, const Row& row, Extent extent, EncodedBlock& out, uint32_t tokens = 0) const;

  const std::shared_ptr<const ShardSchema> schema_;
  const bool strict_;
  const VersionBegin begin_;
  const std::optional<TokenColumns> tokens_;
};

}  // namespace assay::shards
