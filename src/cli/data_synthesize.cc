// assay data synthesize: a data set of shards whose rows are drawn.
#include <limits>
#include <memory>
#include <string>

#include "base/text.h"
#include "cli/data_place.h"
#include "cli/data_shard_flags.h"
#include "cli/data_verb.h"
#include "cli/options.h"
#include "shards/convert/synthetic.h"

namespace assay::cli {
namespace {

struct DataSynthesizeOptions {
  ShardFlags write;
  std::string place;
  std::string shape;
  int64_t samples = 0;
  int64_t seed = 0;
  int64_t vocabulary = 32'000;
  int64_t classes = 10;
};

Result<shards::SyntheticRows> MakeRows(const DataSynthesizeOptions& given) {
  shards::SyntheticRows rows;
  ASSAY_RETURN_IF_ERROR(rows.SetShape(given.shape).WithContext("--shape"));
  rows.values = rows.kind == shards::SyntheticRows::Kind::kImage ? given.classes : given.vocabulary;
  rows.seed = static_cast<uint64_t>(given.seed);
  rows.samples = given.samples;
  return rows;
}

Status SynthesizeRun(const DataSynthesizeOptions& given) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::SyntheticRows rows, MakeRows(given));
  ASSAY_ASSIGN_OR_RETURN(const shards::ConvertOptions options, given.write.Make());
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(given.write.store(), given.place, interrupt.get()));
  const shards::SourceFile source = SyntheticSource(rows);
  const double start = MonotonicSeconds();
  ASSAY_ASSIGN_OR_RETURN(const shards::ConvertReport report, shards::Convert({&source, 1}, place, options));
  given.write.Print(place, report, MonotonicSeconds() - start);
  return Status::Ok();
}

}  // namespace

Action AddDataSynthesize(CLI::App& app) {
  auto options = std::make_shared<DataSynthesizeOptions>();
  app.add_option("place", options->place, "Where to: a folder, s3://bucket/prefix, gs://, oci://bucket@namespace/")
      ->required();
  app.add_option("--samples", options->samples, "How many rows")
      ->required()
      ->check(WholeNumber(1, std::numeric_limits<uint32_t>::max()));
  app.add_option("--shape", options->shape,
                 "Of a row: text:1KiB, tokens:2048, image:224; drawn between two: text:512-2048")
      ->required();
  app.add_option("--seed", options->seed, "The same one gives the same rows")->check(WholeNumber(0));
  app.add_option("--vocabulary", options->vocabulary, "Tokens are drawn below it")
      ->check(WholeNumber(1, std::numeric_limits<int32_t>::max()));
  app.add_option("--classes", options->classes, "Labels of images are drawn below it")
      ->check(WholeNumber(1, std::numeric_limits<int32_t>::max()));
  options->write.AddTo(app);
  options->write.AddStoreTo(app);
  return [options] { return options->write.store().decorators().Counted([&] { return SynthesizeRun(*options); }); };
}

}  // namespace assay::cli
