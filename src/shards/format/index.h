// What a data set consists of: its shards and how their samples are written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/compression.h"
#include "shards/format/encoding.h"

namespace assay::shards {

enum class ShardFormat : uint8_t {
  kMds,
  kJson,        ///< a line of JSON a sample, with a file of offsets beside it
  kXsv,         ///< a line of values with a separator between a sample, likewise; csv and tsv are of this kind
  kLitdata,     ///< chunks of litdata
  kWebDataset,  ///< tar files, whose members name their samples and columns
};

/// What the shards of a data set have in common. Plain data, shared by the entries.
struct ShardSchema {
  ShardFormat format = ShardFormat::kMds;
  std::string format_name = "mds";  ///< as the index has it: "mds", "json", "csv", "tsv", "xsv", "webdataset"
  std::vector<Column> columns{};    ///< in the order in which samples hold them
  Compression compression{};
  std::vector<std::string> hashes{};
  std::optional<int64_t> size_limit{};
  std::string newline = "\n";   ///< of kJson and kXsv
  std::string separator = ",";  ///< of kXsv
  std::string packing{};        ///< of kLitdata: "", "chunk", "batch" or "sample": what one zstd frame holds
};

struct FileEntry {
  std::string basename{};  ///< below the index: may hold '/', never leads out
  int64_t bytes = 0;       ///< below 0: no index tells them
  std::map<std::string, std::string> hashes{};
};

struct ShardEntry {
  std::shared_ptr<const ShardSchema> schema;
  int64_t samples = 0;
  FileEntry raw_data{};
  std::optional<FileEntry> zip_data{};  ///< what is stored, where it is compressed
  std::optional<FileEntry> raw_meta{};  ///< of split shards: the offsets
  std::optional<FileEntry> zip_meta{};

  /// The files that are fetched.
  const FileEntry& data() const { return zip_data ? *zip_data : raw_data; }
  const FileEntry* meta() const { return zip_meta ? &*zip_meta : raw_meta ? &*raw_meta : nullptr; }
};

struct DatasetIndex {
  std::vector<ShardEntry> shards{};

  int64_t samples() const;
};

inline constexpr char kIndexName[] = "index.json";

/// Reads the index.json of MDS, of split shards and of our tar files (version 2), or of litdata. An error names
/// `source`, the shard and what is missing or wrong: also numbers below 0, columns of unknown encodings, files outside
/// the data set's folder.
Result<DatasetIndex> ParseIndex(std::string_view json, std::string_view source);

/// The index as mosaicml-streaming writes it, of all formats but kLitdata; of kWebDataset, which it does not know, like
/// that of MDS.
std::string FormatIndex(const DatasetIndex& index);

/// What mosaicml-streaming writes into each shard, and the index says of each: json.dumps() of the schema.
std::string FormatSchema(const ShardSchema& schema);

/// As an index has it, of a format that has one name.
std::string_view IndexNameOf(ShardFormat format);

/// "shard.00007.mds", "shard.00007.tar", with the compression's ending where there is one; "meta" comes before that.
std::string ShardName(const ShardSchema& schema, int64_t number, bool meta, bool compressed);

/// A name below a folder: no empty, "." or ".." parts, not absolute, no backslash or control character.
Status CheckBasename(std::string_view name);

}  // namespace assay::shards
