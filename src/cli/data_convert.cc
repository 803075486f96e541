// assay data convert: files of rows into a data set of shards.
#include <memory>
#include <string>

#include "base/text.h"
#include "cli/data_place.h"
#include "cli/data_shard_flags.h"
#include "cli/data_tokens.h"
#include "cli/data_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "data/row_encoder.h"

namespace assay::cli {
namespace {

struct DataConvertOptions {
  ShardFlags write;
  std::vector<std::string> places;  ///< the last is where to
  std::string columns;
  std::string from;
  std::string tokenizer;
  std::string response_template = std::string(data::kDefaultResponseTemplate);
};

Result<shards::ConvertOptions> MakeOptions(const DataConvertOptions& given) {
  ASSAY_ASSIGN_OR_RETURN(shards::ConvertOptions options, given.write.Make());
  ASSAY_ASSIGN_OR_RETURN(options.columns, shards::ParseColumns(given.columns));
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
    ASSAY_ASSIGN_OR_RETURN(ObjectPlace place, options.write.store().Open(options.places[i]));
    patterns.push_back({std::move(place.store), std::move(place.key)});
  }
  return shards::FindSources(patterns, format, cancel);
}

Status ConvertRun(const DataConvertOptions& given) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(shards::ConvertOptions options, MakeOptions(given));
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(given.write.store(), given.places.back(), interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<shards::SourceFile> sources, FindRows(given, interrupt.get()));
  TransferProgress progress("converting");
  int64_t bytes = 0;
  for (const shards::SourceFile& source : sources) {
    bytes += source.info.size;
  }
  progress.SetTotal(bytes);
  options.progress = [&progress](int64_t read) { progress.AddBytes(read); };
  ASSAY_ASSIGN_OR_RETURN(const shards::ConvertReport report, shards::Convert(sources, place, options));
  given.write.Print(place, report, progress.seconds());
  return Status::Ok();
}

}  // namespace

Action AddDataConvert(CLI::App& app) {
  auto options = std::make_shared<DataConvertOptions>();
  app.add_option(
         "places", options->places,
         "Files of rows (JSONL, CSV, TSV, tar, Parquet), folders of them or of images, globs, URIs; last: where to")
      ->required()
      ->expected(2, 1 << 16)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--columns", options->columns, "text:str,label:int,ids:ndarray:int32; without: as the first rows are");
  app.add_option("--from", options->from, "What the sources are; without: as their names end")
      ->check(CLI::IsMember(shards::RowFormatNames()));
  CLI::Option* tokenizer =
      app.add_option(
             "--tokenizer", options->tokenizer,
             "Store tokens beside the text: a folder with a tokenizer.json, or the model that will train on them")
          ->type_name("DIR|MODEL");
  app.add_option("--response-template", options->response_template,
                 "Of --tokenizer: in {\"output\"} rows everything up to and including it bears no loss")
      ->needs(tokenizer)
      ->type_name("TEXT");
  options->write.AddTo(app);
  options->write.AddStoreTo(app);
  return [options] { return options->write.store().decorators().Counted([&] { return ConvertRun(*options); }); };
}

}  // namespace assay::cli
