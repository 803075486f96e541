// assay data convert: files of rows into a data set of shards.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/parallel.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/data_place.h"
#include "cli/data_tokens.h"
#include "cli/data_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "data/row_encoder.h"
#include "shards/convert/convert.h"

namespace assay::cli {
namespace {

struct DataConvertOptions {
  StoreFlags store;
  std::vector<std::string> places;  ///< the last is where to
  std::string columns;
  std::string from;
  std::string compression;
  std::string hashes;
  std::string tokenizer;
  std::string response_template = std::string(data::kDefaultResponseTemplate);
  std::string size_limit = FormatBytes(static_cast<double>(shards::kDefaultShardBytes));
  int64_t workers = UsableThreads();
  bool append = false;
  bool resume = false;
  std::string output;
};

Result<shards::ConvertOptions> MakeOptions(const DataConvertOptions& given) {
  shards::ConvertOptions options{.hashes = Split(given.hashes, ','),
                                 .threads = static_cast<int>(given.workers),
                                 .append = given.append,
                                 .resume = given.resume};
  ASSAY_ASSIGN_OR_RETURN(options.columns, shards::ParseColumns(given.columns));
  ASSAY_ASSIGN_OR_RETURN(options.compression, shards::Compression::Parse(given.compression));
  ASSAY_ASSIGN_OR_RETURN(const int64_t limit, ParseBytes(given.size_limit));
  options.size_limit = limit == 0 ? std::nullopt : std::optional(limit);
  if (!given.tokenizer.empty()) {
    ASSAY_ASSIGN_OR_RETURN(options.tokenizer, MakeRowTokenizer(given.tokenizer, given.response_template));
  }
  return options;
}

Result<std::vector<shards::SourceFile>> FindRows(const DataConvertOptions& options, storage::CancelFlag cancel) {
  std::optional<shards::RowFormat> format;
  if (!options.from.empty()) {
    ASSAY_ASSIGN_OR_RETURN(format, shards::ParseRowFormat(options.from));
  }
  std::vector<shards::SourcePattern> patterns;
  for (size_t i = 0; i + 1 < options.places.size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(ObjectPlace place, options.store.Open(options.places[i]));
    patterns.push_back({std::move(place.store), std::move(place.key)});
  }
  return shards::FindSources(patterns, format, cancel);
}

std::string ColumnsText(const std::vector<shards::Column>& columns) {
  std::vector<std::string> parts;
  for (const shards::Column& column : columns) {
    parts.push_back(column.name + ":" + column.encoding.name);
  }
  return Join(parts, ",");
}

void Print(const DataConvertOptions& options, const shards::DatasetPlace& place, const shards::ConvertReport& report,
           double seconds) {
  if (options.output == "json") {
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
  fmt::print("{} rows ({}) in {} shards, {}{}{}, version {} of {}\n", report.rows,
             Escaped(ColumnsText(report.columns)), report.shards, FormatBytes(static_cast<double>(report.stored_bytes)),
             report.resumed_shards == 0 ? "" : fmt::format(", {} of them stood already", report.resumed_shards),
             report.tokens ? fmt::format(", {} tokens in all", *report.tokens) : "",
             report.version, Escaped(place.Uri()));
}

Status ConvertRun(const DataConvertOptions& given) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(shards::ConvertOptions options, MakeOptions(given));
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(given.store, given.places.back(), interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<shards::SourceFile> sources, FindRows(given, interrupt.get()));
  TransferProgress progress("converting");
  int64_t bytes = 0;
  for (const shards::SourceFile& source : sources) {
    bytes += source.info.size;
  }
  progress.SetTotal(bytes);
  options.progress = [&progress](int64_t read) { progress.AddBytes(read); };
  ASSAY_ASSIGN_OR_RETURN(const shards::ConvertReport report, shards::Convert(sources, place, options));
  Print(given, place, report, progress.seconds());
  return Status::Ok();
}

}  // namespace

Action AddDataConvert(CLI::App& app) {
  auto options = std::make_shared<DataConvertOptions>();
  app.add_option("places", options->places,
                 "Files of rows (JSONL, CSV, TSV), folders of them or of images, globs, URIs; last: where to")
      ->required()
      ->expected(2, 1 << 16)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--columns", options->columns, "text:str,label:int,ids:ndarray:int32; without: as the first rows are");
  app.add_option("--from", options->from, "What the sources are; without: as their names end")
      ->check(CLI::IsMember(shards::RowFormatNames()));
  app.add_option("--compression", options->compression,
                 "Of whole shards: br, bz2, gz, snappy, zstd, with a level: zstd:7");
  app.add_option("--size-limit", options->size_limit, "Bytes of a shard, uncompressed; 0: all in one")
      ->check(ByteSize());
  app.add_option("--hashes", options->hashes,
                 "In the index, of each file: sha1,xxh3_64; checksums are kept without, too");
  CLI::Option* tokenizer =
      app.add_option("--tokenizer", options->tokenizer,
                     "Store tokens beside the text: a folder with a tokenizer.json, or the model that will train on them")
          ->type_name("DIR|MODEL");
  app.add_option("--response-template", options->response_template,
                 "Of --tokenizer: in {\"output\"} rows everything up to and including it bears no loss")
      ->needs(tokenizer)
      ->type_name("TEXT");
  app.add_option("--workers", options->workers, "Threads; the shards are the same whatever their number")
      ->check(WholeNumber(1, 1024));
  app.add_flag("--append", options->append, "Add the rows to the data set that stands there, as a new version");
  app.add_flag("--resume", options->resume, "Go on with the same conversion where it was cut off");
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return ConvertRun(*options); }); };
}

}  // namespace assay::cli
