// Files of rows made into a data set of MDS shards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/convert/row_tokens.h"
#include "shards/convert/sources.h"
#include "shards/dataset/place.h"
#include "shards/format/compression.h"
#include "shards/format/encoding.h"
#include "shards/format/index.h"

namespace assay::shards {

inline constexpr int64_t kDefaultShardBytes = int64_t{64} << 20;

struct ConvertOptions {
  /// None: those of the first rows (infer_columns.h), and every row must have them and no other; of a data set that is
  /// appended to, its own.
  std::vector<Column> columns{};
  ShardFormat format = ShardFormat::kMds;  ///< or kWebDataset
  Compression compression{};
  std::vector<std::string> hashes{};
  std::optional<int64_t> size_limit = kDefaultShardBytes;  ///< of a shard, uncompressed; nothing: one shard
  /// Of rows of JSON and of Parquet alone: adds the columns input_ids and labels, and counts the tokens.
  std::optional<RowTokenizer> tokenizer{};
  int threads = 1;      ///< they change nothing in what is written
  bool append = false;  ///< adds a version to the data set that stands, in its columns, format, compression and limit
  bool resume = false;  ///< goes on with a conversion that was cut off
  std::function<void(int64_t bytes)>
      progress{};  ///< bytes of the sources that were read; called by the caller's thread
};

struct ConvertReport {
  int64_t version = 1;
  int64_t rows = 0;  ///< of this conversion, as all below
  int64_t shards = 0;
  int64_t resumed_shards = 0;  ///< that stood already
  int64_t input_bytes = 0;
  int64_t raw_bytes = 0;
  int64_t stored_bytes = 0;
  std::optional<int64_t> tokens{};  ///< of all versions, where they were made
  std::string content_hash{};
  std::vector<Column> columns{};
};

/// Writes the rows of `sources`, in their order, as the MDSWriter of mosaicml-streaming writes the same rows, but for
/// the empty shard that it writes before a sample over the limit. The manifest is written last: without it nothing is
/// offered. What was written stays for `resume` when the network, the disk or the user ends it; a row that cannot be
/// taken removes it. Errors name the file and the line.
Result<ConvertReport> Convert(std::span<const SourceFile> sources, const DatasetPlace& place,
                              const ConvertOptions& options);

}  // namespace assay::shards
