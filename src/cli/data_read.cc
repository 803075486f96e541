// assay data read: samples of a rank in the order of a training, as lines of JSON; goes on where a state says.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "cli/data_stream_flags.h"
#include "cli/data_verb.h"
#include "cli/options.h"
#include "shards/format/row_json.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct DataReadOptions {
  StreamFlags stream;
  std::string state;
  int64_t count = kLargestCount;
  int64_t epochs = 1;
};

Status PrintSample(const shards::StreamedSample& sample, std::string& line) {
  thread_local shards::Row row;
  thread_local std::string scratch;
  ASSAY_RETURN_IF_ERROR(shards::DecodeSample(*sample.schema, sample.bytes, row, scratch)
                            .WithContext(fmt::format("sample {}", sample.number)));
  line.clear();
  shards::AppendRowJson(sample.schema->columns, row, line);
  line += '\n';
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size()
             ? Status::Ok()
             : ErrnoStatus(errno, "write", "standard output");
}

Status PrintSamples(const DataReadOptions& options, shards::SampleStream& stream, storage::CancelFlag cancel) {
  std::string line;
  int64_t epochs = 0;
  for (int64_t count = 0; count < options.count;) {
    ASSAY_ASSIGN_OR_RETURN(const auto sample, stream.Next());
    if (storage::IsCancelled(cancel)) {
      return storage::CancelledStatus("read", options.stream.Names());
    }
    if (sample) {
      ASSAY_RETURN_IF_ERROR(PrintSample(*sample, line));
      ++count;
    } else if (++epochs < options.epochs) {
      ASSAY_RETURN_IF_ERROR(stream.NextEpoch());
    } else {
      return stream.NextEpoch();
    }
  }
  return Status::Ok();
}

Status ReadRun(const DataReadOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::StreamOptions settings, options.stream.Make());
  ASSAY_ASSIGN_OR_RETURN(auto sources, options.stream.OpenSources(interrupt.get()));
  std::optional<shards::StreamState> from;
  if (!options.state.empty() && FileExists(options.state)) {
    ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.state));
    ASSAY_ASSIGN_OR_RETURN(from, shards::ParseState(text, options.state));
  }
  ASSAY_ASSIGN_OR_RETURN(const auto stream,
                         shards::SampleStream::Open(std::move(sources), settings, from ? &*from : nullptr));
  ASSAY_RETURN_IF_ERROR(PrintSamples(options, *stream, interrupt.get()));
  if (const int64_t skipped = stream->counters().skipped; skipped > 0) {
    fmt::print(stderr, "assay data: {} samples of damaged shards were left out\n", skipped);
  }
  if (const Status unkept = stream->cache_error(); !unkept.ok()) {
    fmt::print(stderr, "assay data: {} shards could not be kept: {}\n", stream->counters().unkept_shards,
               unkept.message());
  }
  return options.state.empty() ? Status::Ok() : WriteFileAtomically(options.state, FormatState(stream->state()));
}

}  // namespace

Action AddDataRead(CLI::App& app) {
  auto options = std::make_shared<DataReadOptions>();
  options->stream.AddTo(app, true);
  app.add_option("--count", options->count, "Samples; without: to the end of the epoch")->check(WholeNumber(1));
  app.add_option("--epochs", options->epochs, "How many")->check(WholeNumber(1));
  app.add_option("--state", options->state, "A file that says where to go on; where it ends is written there");
  return [options] { return options->stream.store().decorators().Counted([&] { return ReadRun(*options); }); };
}

}  // namespace assay::cli
