// assay data bench: how fast samples come, and what that costs.
#include <fmt/format.h>
#include <sys/resource.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/data_stream_flags.h"
#include "cli/data_verb.h"
#include "cli/options.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct DataBenchOptions {
  StreamFlags stream;
  int64_t passes = 2;
  bool decode = false;
  std::string output;
};

double CpuSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One epoch, as it was measured.
struct Pass {
  double seconds = 0;
  double cpu_seconds = 0;
  double first_sample_seconds = 0;
  shards::StreamCounters counters;  ///< of this pass alone
};

shards::StreamCounters Since(const shards::StreamCounters& now, const shards::StreamCounters& before) {
  return {.samples = now.samples - before.samples,
          .used_bytes = now.used_bytes - before.used_bytes,
          .skipped = now.skipped - before.skipped,
          .fetched_bytes = now.fetched_bytes - before.fetched_bytes,
          .fetched_shards = now.fetched_shards - before.fetched_shards,
          .cached_shards = now.cached_shards - before.cached_shards,
          .damaged_fetches = now.damaged_fetches - before.damaged_fetches,
          .unkept_shards = now.unkept_shards - before.unkept_shards,
          .waits = now.waits - before.waits,
          .wait_seconds = now.wait_seconds - before.wait_seconds};
}

/// What was before an epoch was begun.
struct PassStart {
  double seconds = MonotonicSeconds();
  double cpu_seconds = CpuSeconds();
  shards::StreamCounters counters{};
};

/// To the end of the epoch.
Result<Pass> RunPass(shards::SampleStream& stream, bool decode, const PassStart& start, storage::CancelFlag cancel) {
  Pass pass;
  shards::Row row;
  std::string scratch;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const auto sample, stream.Next());
    if (pass.first_sample_seconds == 0) {
      pass.first_sample_seconds = MonotonicSeconds() - start.seconds;
    }
    if (!sample) {
      break;
    }
    if (storage::IsCancelled(cancel)) {
      return Status::Aborted("interrupted");
    }
    if (decode) {
      ASSAY_RETURN_IF_ERROR(shards::DecodeSample(*sample->schema, sample->bytes, row, scratch));
    }
  }
  pass.seconds = MonotonicSeconds() - start.seconds;
  pass.cpu_seconds = CpuSeconds() - start.cpu_seconds;
  pass.counters = Since(stream.counters(), start.counters);
  return pass;
}

nlohmann::json PassJson(const Pass& pass) {
  const auto samples = static_cast<double>(pass.counters.samples);
  return {{"samples", pass.counters.samples},
          {"seconds", pass.seconds},
          {"samples_per_s", samples / pass.seconds},
          {"samples_per_cpu_s", samples / pass.cpu_seconds},
          {"mb_per_s", static_cast<double>(pass.counters.used_bytes) / 1e6 / pass.seconds},
          {"cpu_seconds", pass.cpu_seconds},
          {"first_sample_seconds", pass.first_sample_seconds},
          {"stall_fraction", pass.counters.wait_seconds / pass.seconds},
          {"waits", pass.counters.waits},
          {"used_bytes", pass.counters.used_bytes},
          {"fetched_bytes", pass.counters.fetched_bytes},
          {"fetched_shards", pass.counters.fetched_shards},
          {"cached_shards", pass.counters.cached_shards},
          {"unkept_shards", pass.counters.unkept_shards},
          {"skipped", pass.counters.skipped}};
}

void PrintTable(const std::vector<Pass>& passes, double open_seconds, double state_seconds) {
  TextTable table({"pass", "samples/s", "samples/CPU s", "MB/s", "first sample", "waited", "fetched", "used"});
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    const auto samples = static_cast<double>(pass.counters.samples);
    table.AddRow({fmt::to_string(i + 1), fmt::format("{:.0f}", samples / pass.seconds),
                  fmt::format("{:.0f}", samples / pass.cpu_seconds),
                  fmt::format("{:.0f}", static_cast<double>(pass.counters.used_bytes) / 1e6 / pass.seconds),
                  FormatSeconds(pass.first_sample_seconds),
                  fmt::format("{:.1f} %", 100 * pass.counters.wait_seconds / pass.seconds),
                  FormatBytes(static_cast<double>(pass.counters.fetched_bytes)),
                  FormatBytes(static_cast<double>(pass.counters.used_bytes))});
  }
  fmt::print("{}\nopened in {}, a state saved in {}\n", table.Render(), FormatSeconds(open_seconds),
             FormatSeconds(state_seconds));
}

Status BenchRun(const DataBenchOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::StreamOptions settings, options.stream.Make());
  PassStart start;
  ASSAY_ASSIGN_OR_RETURN(auto sources, options.stream.OpenSources(interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const auto stream, shards::SampleStream::Open(std::move(sources), settings));
  const double open_seconds = MonotonicSeconds() - start.seconds;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < options.passes; ++i) {
    if (i > 0) {
      start = {.counters = stream->counters()};
      ASSAY_RETURN_IF_ERROR(stream->NextEpoch());
    }
    ASSAY_ASSIGN_OR_RETURN(Pass pass, RunPass(*stream, options.decode, start, interrupt.get()));
    passes.push_back(pass);
  }
  const double begin = MonotonicSeconds();
  const std::string state = FormatState(stream->state());
  const double state_seconds = MonotonicSeconds() - begin;
  if (options.output == "json") {
    nlohmann::json json = nlohmann::json::array();
    for (const Pass& pass : passes) {
      json.push_back(PassJson(pass));
    }
    fmt::print("{}", DumpJsonPretty({{"passes", json},
                                     {"open_seconds", open_seconds},
                                     {"state_seconds", state_seconds},
                                     {"state_bytes", state.size()}}));
  } else {
    PrintTable(passes, open_seconds, state_seconds);
  }
  return Status::Ok();
}

}  // namespace

Action AddDataBench(CLI::App& app) {
  auto options = std::make_shared<DataBenchOptions>();
  options->stream.AddTo(app, true);
  app.add_option("--passes", options->passes, "Epochs: the first is cold, if nothing is cached")->check(WholeNumber(1));
  app.add_flag("--decode", options->decode, "Look at every value of every sample");
  AddOutputOption(app, options->output, {"text", "json"});
  return [options] { return options->stream.store().decorators().Counted([&] { return BenchRun(*options); }); };
}

}  // namespace assay::cli
