// What is converted: files of rows, by name, by glob, or all of a folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/convert/synthetic.h"
#include "storage/object_store.h"

namespace assay::shards {

enum class RowFormat : uint8_t {
  kJsonLines,  ///< an object a line
  kCsv,        ///< RFC 4180, names in the first record
  kTsv,        ///< likewise, tabs between
  kImages,     ///< a file a row, in a folder for each class
  kTar,        ///< WebDataset: members of a tar that share a key are a row
  kParquet,    ///< offsets in it are rows
  kSynthetic,  ///< drawn, from no file
};

std::string_view NameOf(RowFormat format);
/// Of a format of files: "jsonl", "csv", "tsv", "images", "webdataset" or "parquet".
Result<RowFormat> ParseRowFormat(std::string_view name);
std::vector<std::string> RowFormatNames();
/// Between fields: of kCsv and kTsv.
inline char SeparatorOf(RowFormat format) {
  return format == RowFormat::kTsv ? '\t' : ',';
}
/// By a file's ending (.jsonl, .ndjson, .json, .csv, .tsv; .tar; .parquet; .jpg, .jpeg, .png); nothing for others.
std::optional<RowFormat> RowFormatOf(std::string_view file_name);
/// How a file of images is encoded: "jpeg" or "png", by its ending.
std::string_view ImageEncodingOf(std::string_view file_name);

struct SourceFile {
  std::shared_ptr<storage::ObjectStore> store{};
  storage::ObjectInfo info{};  ///< its key, size and etag
  RowFormat format = RowFormat::kJsonLines;
  std::string name{};  ///< of images: below the folder that was named
  int64_t label = 0;   ///< of images: which of the class folders, sorted by name, it is in
  /// Of kSynthetic, which has no store: its size, and offsets in it, are rows.
  std::shared_ptr<const SyntheticRows> synthetic{};

  std::string uri() const { return synthetic ? synthetic->Name() : store->Uri(info.key); }
};

/// The only source of a data set that is drawn.
SourceFile SyntheticSource(const SyntheticRows& rows);

/// A key that may hold '*', '?' and '[...]', as fnmatch() reads them; '*' does not match '/'. One that ends with '/' or
/// names a folder is all files below it whose ending says what they are.
struct SourcePattern {
  std::shared_ptr<storage::ObjectStore> store{};
  std::string key{};
};

/// The files that the patterns name, each pattern's sorted by name. `format` is that of all of them, or else their
/// endings say it: images are taken only where they are asked for. Refuses a pattern that names nothing, a file that
/// comes twice, and an image that is empty or in no class folder.
Result<std::vector<SourceFile>> FindSources(std::span<const SourcePattern> patterns, std::optional<RowFormat> format,
                                            storage::CancelFlag cancel);

}  // namespace assay::shards
