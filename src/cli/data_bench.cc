// assay data bench: how fast samples come, and what that costs.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
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
  bool all_shuffles = false;
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
  /// How far samples that follow one another lie apart in the data set, of what they do in a random order; 0: as they
  /// stand, 1: as if drawn.
  double spread = 0;
  shards::StreamCounters counters;  ///< of this pass alone
};

/// Passes one after the other.
struct Bench {
  std::vector<Pass> passes;
  double open_seconds = 0;
  double state_seconds = 0;
  size_t state_bytes = 0;
};

/// What was before an epoch was begun.
struct PassStart {
  double seconds = MonotonicSeconds();
  double cpu_seconds = CpuSeconds();
  shards::StreamCounters counters{};
};

/// Sums the distances of numbers that follow one another.
class SpreadMeter {
 public:
  void Add(int64_t number) {
    distance_ += count_++ > 0 ? std::abs(static_cast<double>(number - last_)) : 0;
    last_ = number;
  }
  /// Of `samples`, of which two that are drawn lie a third apart.
  double Of(int64_t samples) const {
    return count_ < 2 ? 0 : 3 * distance_ / static_cast<double>(count_ - 1) / static_cast<double>(samples);
  }

 private:
  double distance_ = 0;
  int64_t last_ = 0;
  int64_t count_ = 0;
};

/// To the end of the epoch, of `samples` in all.
Result<Pass> RunPass(shards::SampleStream& stream, bool decode, int64_t samples, const PassStart& start,
                     storage::CancelFlag cancel) {
  Pass pass;
  SpreadMeter spread;
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
    spread.Add(sample->number);
    if (decode) {
      ASSAY_RETURN_IF_ERROR(shards::DecodeSample(*sample->schema, sample->bytes, row, scratch));
    }
  }
  pass.seconds = MonotonicSeconds() - start.seconds;
  pass.cpu_seconds = CpuSeconds() - start.cpu_seconds;
  pass.counters = Since(stream.counters(), start.counters);
  pass.spread = spread.Of(samples);
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
          {"spread", pass.spread},
          {"used_bytes", pass.counters.used_bytes},
          {"fetched_bytes", pass.counters.fetched_bytes},
          {"fetched_shards", pass.counters.fetched_shards},
          {"fetched_samples", pass.counters.fetched_samples},
          {"cached_shards", pass.counters.cached_shards},
          {"unkept_shards", pass.counters.unkept_shards},
          {"skipped", pass.counters.skipped}};
}

nlohmann::json BenchJson(const Bench& bench) {
  nlohmann::json passes = nlohmann::json::array();
  for (const Pass& pass : bench.passes) {
    passes.push_back(PassJson(pass));
  }
  return {{"passes", std::move(passes)},
          {"open_seconds", bench.open_seconds},
          {"state_seconds", bench.state_seconds},
          {"state_bytes", bench.state_bytes}};
}

std::vector<std::string> PassCells(const std::string& name, const Pass& pass) {
  const auto samples = static_cast<double>(pass.counters.samples);
  return {name,
          fmt::format("{:.0f}", samples / pass.seconds),
          fmt::format("{:.0f}", samples / pass.cpu_seconds),
          fmt::format("{:.0f}", static_cast<double>(pass.counters.used_bytes) / 1e6 / pass.seconds),
          FormatSeconds(pass.first_sample_seconds),
          fmt::format("{:.1f} %", 100 * pass.counters.wait_seconds / pass.seconds),
          FormatBytes(static_cast<double>(pass.counters.fetched_bytes)),
          FormatBytes(static_cast<double>(pass.counters.used_bytes)),
          fmt::format("{:.2f}", pass.spread)};
}

TextTable PassTable(const char* first) {
  return TextTable(
      {first, "samples/s", "samples/CPU s", "MB/s", "first sample", "waited", "fetched", "used", "spread"});
}

void Print(const Bench& bench) {
  TextTable table = PassTable("pass");
  for (size_t i = 0; i < bench.passes.size(); ++i) {
    table.AddRow(PassCells(fmt::to_string(i + 1), bench.passes[i]));
  }
  fmt::print("{}\nopened in {}, a state saved in {}\n", table.Render(), FormatSeconds(bench.open_seconds),
             FormatSeconds(bench.state_seconds));
}

Result<Bench> Measure(const DataBenchOptions& options, const shards::StreamOptions& settings,
                      storage::CancelFlag cancel) {
  Bench bench;
  PassStart start;
  ASSAY_ASSIGN_OR_RETURN(auto sources, options.stream.OpenSources(cancel));
  int64_t samples = 0;
  for (const shards::StreamSource& source : sources) {
    samples += source.dataset.index.samples();
  }
  ASSAY_ASSIGN_OR_RETURN(const auto stream, shards::SampleStream::Open(std::move(sources), settings));
  bench.open_seconds = MonotonicSeconds() - start.seconds;
  for (int64_t i = 0; i < options.passes; ++i) {
    if (i > 0) {
      start = {.counters = stream->counters()};
      ASSAY_RETURN_IF_ERROR(stream->NextEpoch());
    }
    ASSAY_ASSIGN_OR_RETURN(Pass pass, RunPass(*stream, options.decode, samples, start, cancel));
    bench.passes.push_back(pass);
  }
  const double begin = MonotonicSeconds();
  bench.state_bytes = FormatState(stream->state()).size();
  bench.state_seconds = MonotonicSeconds() - begin;
  return bench;
}

/// The last pass of each: what mixing costs, and how well it mixes.
Status CompareShuffles(const DataBenchOptions& options, shards::StreamOptions settings, storage::CancelFlag cancel) {
  nlohmann::json json = nlohmann::json::array();
  TextTable table = PassTable("shuffle");
  for (const std::string& name : StreamFlags::ShuffleChoices()) {
    ASSAY_RETURN_IF_ERROR(StreamFlags::SetShuffle(name, settings.order));
    ASSAY_ASSIGN_OR_RETURN(const Bench bench, Measure(options, settings, cancel));
    table.AddRow(PassCells(name, bench.passes.back()));
    json.push_back(BenchJson(bench));
    json.back()["shuffle"] = name;
  }
  fmt::print("{}", options.output == "json" ? DumpJsonPretty({{"shuffles", json}}) : table.Render());
  return Status::Ok();
}

Status BenchRun(const DataBenchOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::StreamOptions settings, options.stream.Make());
  if (options.all_shuffles) {
    return CompareShuffles(options, settings, interrupt.get());
  }
  ASSAY_ASSIGN_OR_RETURN(const Bench bench, Measure(options, settings, interrupt.get()));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(BenchJson(bench)));
  } else {
    Print(bench);
  }
  return Status::Ok();
}

}  // namespace

Action AddDataBench(CLI::App& app) {
  auto options = std::make_shared<DataBenchOptions>();
  options->stream.AddTo(app, true);
  app.add_option("--passes", options->passes, "Epochs: the first is cold, if nothing is cached")->check(WholeNumber(1));
  app.add_flag("--decode", options->decode, "Look at every value of every sample");
  app.add_flag("--all-shuffles", options->all_shuffles,
               "Measure every shuffle in turn; with --memory below the data set also what they fetch again");
  AddOutputOption(app, options->output, {"text", "json"});
  return [options] { return options->stream.store().decorators().Counted([&] { return BenchRun(*options); }); };
}

}  // namespace assay::cli
