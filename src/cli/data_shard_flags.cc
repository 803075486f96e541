#include "cli/data_shard_flags.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

std::string ColumnsText(const std::vector<shards::Column>& columns) {
  std::vector<std::string> parts;
  for (const shards::Column& column : columns) {
    parts.push_back(column.name + ":" + column.encoding.name);
  }
  return Join(parts, ",");
}

}  // namespace

void ShardFlags::AddTo(CLI::App& app) {
  app.add_option("--format", format_, "Of the shards: mds, or webdataset, which are tar files")
      ->check(CLI::IsMember({"mds", "webdataset"}));
  app.add_option("--compression", compression_, "Of whole shards: br, bz2, gz, snappy, zstd, with a level: zstd:7");
  app.add_option("--size-limit", size_limit_, "Bytes of a shard, uncompressed; 0: all in one")->check(ByteSize());
  app.add_option("--hashes", hashes_, "In the index, of each file: sha1,xxh3_64; checksums are kept without, too");
  app.add_option("--workers", workers_, "Threads; the shards are the same whatever their number")
      ->check(WholeNumber(1, 1024));
  app.add_flag("--append", append_, "Add the rows to the data set that stands there, as a new version");
  app.add_flag("--resume", resume_, "Go on with the same conversion where it was cut off");
}

void ShardFlags::AddStoreTo(CLI::App& app) {
  AddOutputOption(app, output_, {"text", "json"});
  store_.AddTo(app);
  store_.decorators().AddStatsTo(app);
}

Result<shards::ConvertOptions> ShardFlags::Make() const {
  shards::ConvertOptions options{
      .hashes = Split(hashes_, ','), .threads = static_cast<int>(workers_), .append = append_, .resume = resume_};
  options.format = format_ == "mds" ? shards::ShardFormat::kMds : shards::ShardFormat::kWebDataset;
  ASSAY_ASSIGN_OR_RETURN(options.compression, shards::Compression::Parse(compression_));
  ASSAY_ASSIGN_OR_RETURN(const int64_t limit, ParseBytes(size_limit_));
  options.size_limit = limit == 0 ? std::nullopt : std::optional(limit);
  return options;
}

void ShardFlags::Print(const shards::DatasetPlace& place, const shards::ConvertReport& report, double seconds) const {
  if (output_ == "json") {
    fmt::print("{}", DumpJsonPretty({{"uri", place.Uri()},
                                     {"version", report.version},
                                     {"rows", report.rows},
                                     {"shards", report.shards},
                                     {"resumed_shards", report.resumed_shards},
                                     {"input_bytes", report.input_bytes},
                                     {"raw_bytes", report.raw_bytes},
                                     {"stored_bytes", report.stored_bytes},
                                     {"tokens", report.tokens ? nlohmann::json(*report.tokens) : nlohmann::json()},
                                     {"columns", ColumnsText(report.columns)},
                                     {"content_hash", report.content_hash},
                                     {"seconds", seconds}}));
    return;
  }
  fmt::print("{} rows ({}) in {} shards, {}{}{}, version {} of {}\n", report.rows, Escaped(ColumnsText(report.columns)),
             report.shards, FormatBytes(static_cast<double>(report.stored_bytes)),
             report.resumed_shards == 0 ? "" : fmt::format(", {} of them stood already", report.resumed_shards),
             report.tokens ? fmt::format(", {} tokens in all", *report.tokens) : "", report.version,
             Escaped(place.Uri()));
}

}  // namespace assay::cli
