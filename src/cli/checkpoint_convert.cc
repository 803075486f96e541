// assay checkpoint convert: a checkpoint in another format, or for another number of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "checkpoint/convert.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct CheckpointConvertOptions {
  StoreFlags store;
  std::string from;
  std::string to;
  std::string format;
  std::string sharing = "rows";
  std::string prefix = "default";
  std::string alignment = "4KiB";
  CLI::Option* alignment_given = nullptr;
  std::string shard_size;
  int64_t epoch = -1;
  int64_t step = -1;
  std::vector<std::string> metrics;
  checkpoint::ConvertOptions convert;
  bool quiet = false;
};

Result<double> ParseMetric(const std::string& metric, size_t equals) {
  double value = 0;
  const char* end = metric.data() + metric.size();
  const char* begin = metric.data() + std::min(equals, metric.size() - 1) + 1;
  const auto [rest, error] = std::from_chars(begin, end, value);
  const bool is_one = equals != std::string::npos && equals > 0 && error == std::errc() && rest == end;
  return is_one && std::isfinite(value)
             ? Result<double>(value)
             : Status::InvalidArgument(fmt::format("--metric {}: NAME=NUMBER is needed", metric));
}

Result<checkpoint::ConvertOptions> Settle(const CheckpointConvertOptions& options) {
  checkpoint::ConvertOptions convert = options.convert;
  ASSAY_ASSIGN_OR_RETURN(convert.format, checkpoint::FormatOf(options.format));
  ASSAY_ASSIGN_OR_RETURN(convert.sharing, checkpoint::SharingOf(options.sharing));
  ASSAY_ASSIGN_OR_RETURN(convert.prefix, checkpoint::ParsePrefixStrategy(options.prefix, options.epoch));
  const bool is_torch =
      convert.format == checkpoint::Format::kTorch || convert.format == checkpoint::Format::kLightning;
  if (is_torch && convert.ranks > 1) {
    return Status::InvalidArgument(
        fmt::format("--ranks {}: a file of torch.save is one (dcp and safetensors are not)", convert.ranks));
  }
  ASSAY_ASSIGN_OR_RETURN(convert.alignment,
                         ParseBytes(is_torch && options.alignment_given->count() == 0 ? "64" : options.alignment));
  if (convert.alignment < 64 || (convert.alignment & (convert.alignment - 1)) != 0 || convert.alignment > (32 << 10)) {
    return Status::InvalidArgument(
        fmt::format("--alignment {}: a power of two from 64 to 32 KiB is needed", options.alignment));
  }
  if (options.step >= 0) {
    convert.save.step = options.step;
  }
  for (const std::string& metric : options.metrics) {
    const size_t equals = metric.find('=');
    ASSAY_ASSIGN_OR_RETURN(const double value, ParseMetric(metric, equals));
    convert.save.metrics[metric.substr(0, equals)] = value;
  }
  if (!options.shard_size.empty()) {
    ASSAY_ASSIGN_OR_RETURN(convert.shard_bytes, ParseBytes(options.shard_size));
  }
  return convert;
}

Status ConvertRun(const CheckpointConvertOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(checkpoint::ConvertOptions convert, Settle(options));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place from,
                         OpenCheckpointPlace(options.store, options.from, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Place to,
                         OpenCheckpointTarget(options.store, options.to, convert.format, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Checkpoint source, checkpoint::OpenCheckpoint(from));
  TransferProgress progress("converting");
  progress.SetTotal(checkpoint::TensorBytes(source.state));
  convert.save.progress = [&progress](int64_t bytes) { progress.AddBytes(bytes); };
  ASSAY_ASSIGN_OR_RETURN(const checkpoint::Manifest manifest, checkpoint::Convert(source, to, convert));
  if (!options.quiet) {
    fmt::print("{} to {}: {} in {} file{}, {}\n", Escaped(from.uri()), Escaped(to.uri()),
               checkpoint::NameOf(manifest.format), manifest.files.size(), manifest.files.size() == 1 ? "" : "s",
               RateText(manifest.bytes(), progress.seconds()));
  }
  return Status::Ok();
}

}  // namespace

Action AddCheckpointConvert(CLI::App& app) {
  auto options = std::make_shared<CheckpointConvertOptions>();
  app.add_option("from", options->from, "The checkpoint: a file or a folder, of any format")->required();
  app.add_option("to", options->to, "Where it is to stand: a folder of dcp and safetensors, a file of the others")
      ->required();
  app.add_option("--format", options->format, "dcp, safetensors, pt or ckpt")->required();
  app.add_option("--ranks", options->convert.ranks, "dcp: ranks that it is written as by; safetensors: shards")
      ->check(CLI::Range(1, 65536));
  app.add_option("--sharing", options->sharing,
                 "dcp: tensors over ranks by rows (FSDP's sharded state dict), full (each by one rank) or flat (equal "
                 "parts of their elements)")
      ->capture_default_str();
  app.add_option("--files-per-rank", options->convert.files_per_rank, "dcp: files of each rank")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--lowest-rank", options->convert.to_lowest_rank,
               "dcp: what all ranks have is written by rank 0, not shared out");
  app.add_option("--prefix", options->prefix, "dcp: names by default, binary, hex, or PREFIX,PREFIX,... in turn")
      ->capture_default_str();
  app.add_option("--epoch", options->epoch, "dcp: an epoch's number in names with a prefix");
  options->alignment_given =
      app.add_option("--alignment", options->alignment,
                     "Where large tensors begin in a file: multiples of it (pt and ckpt: 64 unless given)")
          ->capture_default_str();
  app.add_option("--max-shard-size", options->shard_size, "safetensors: the most in a file, such as 5GB");
  app.add_option("--step", options->step, "The training step that it is of, in place of the source's")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--metric", options->metrics, "NAME=NUMBER, by which rm --keep-best chooses; may come again")
      ->take_all();
  app.add_flag("--overwrite", options->convert.save.overwrite, "Replace a checkpoint that stands there, in one step");
  app.add_flag("-q,--quiet", options->quiet, "Print failures only");
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return ConvertRun(*options); }); };
}

}  // namespace assay::cli
