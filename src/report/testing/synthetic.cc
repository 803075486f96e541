#include "report/testing/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "measure/statistics.h"

namespace assay::report::testing {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr double kLoadSeconds = 1.2;

Measurement Bare(const SyntheticPoint& point) {
  Measurement m;
  m.uid = fmt::format("{:016x}{:016x}", point.seed, std::hash<std::string>()(point.method) ^ point.seed * 7919);
  m.experiment = fmt::format("finetune_{}_benchmark-v1.0.0", point.method);
  m.parameterized_id = m.experiment + "-stop_after_seconds.14";
  m.entity = {{"model_name", point.model},
              {"model_max_length", point.max_length},
              {"batch_size", point.batch_size},
              {"number_gpus", int64_t{point.gpu ? 1 : 0}},
              {"torch_dtype", point.dtype}};
  m.entity_id = space::EntityId(m.entity);
  m.measured_at = fmt::format("2026-01-31T12:{:02}:{:02}Z", point.seed / 60 % 60, point.seed % 60);
  m.provenance = {{"host", "workbench"},
                  {"cpu", "Example CPU 8481C @ 2.70GHz"},
                  {"cores", "2"},
                  {"memory", "16.0 GiB"},
                  {"isa", "avx512"},
                  {"libtorch", "2.13.0"},
                  {"commit", "1fed3b0"},
                  {"weights", "random"},
                  {"tokenizer", "/share/tokenizers/assay-8k"},
                  {"model_hash", "9c1d0f"},
                  {"data_hash", "5e8a77"},
                  {"dataset", "austen-completion"}};
  if (point.gpu) {
    m.provenance["gpu"] = "Example GPU 80 GB";
  }
  return m;
}

struct Steps {
  std::vector<double> seconds;
  std::vector<double> tokens;
  std::vector<double> loss;
};

Steps MakeSteps(const SyntheticPoint& point, std::mt19937_64& random) {
  std::normal_distribution<double> noise;
  const double factor = point.method == "full" ? 1.35 : 1.0;
  Steps steps;
  for (int i = 0; i < point.steps; ++i) {
    const double tokens =
        std::round(static_cast<double>(point.batch_size * point.max_length) * (0.9 + 0.05 * noise(random)));
    const double warm_up = i == 0 ? 1.6 : 1.0;
    steps.tokens.push_back(tokens);
    steps.seconds.push_back(warm_up * factor * (0.09 + tokens / 2900) * (1 + 0.03 * std::abs(noise(random))));
    const double drop = point.method == "full" ? 2.1 : 1.2;
    steps.loss.push_back(10.9 - drop * (1 - std::exp(-0.06 * i)) + 0.12 * noise(random));
  }
  return steps;
}

void AddSamples(const SyntheticPoint& point, double train_seconds, double peak_rss, std::mt19937_64& random,
                Measurement& m) {
  std::normal_distribution<double> noise;
  for (double t = 0; t < kLoadSeconds + train_seconds; t += 0.1) {
    const bool loading = t < kLoadSeconds;
    m.series["time_s"].push_back(t);
    m.series["cpu_tree_percent"].push_back(loading ? 95 + 3 * noise(random) : std::min(200.0, 190 + 6 * noise(random)));
    m.series["rss_tree_bytes"].push_back(loading ? peak_rss * 0.5 * t / kLoadSeconds
                                                 : peak_rss * (0.93 + 0.06 * std::abs(std::sin(3 * t))));
    if (point.gpu) {
      m.series["gpu0.utilization_percent"].push_back(loading ? 0 : std::clamp(92 + 5 * noise(random), 0.0, 100.0));
      m.series["gpu0.power_watts"].push_back(loading ? 70 : 310 + 12 * noise(random));
    }
  }
}

void AddTargets(const SyntheticPoint& point, const Steps& steps, Measurement& m) {
  const double seconds = std::accumulate(steps.seconds.begin(), steps.seconds.end(), 0.0);
  const double tokens = std::accumulate(steps.tokens.begin(), steps.tokens.end(), 0.0);
  const double rows = static_cast<double>(point.batch_size * point.max_length);
  const double peak = kGib * ((point.method == "full" ? 1.4 : 0.45) + rows * 0.0011);
  m.properties = {{"is_valid", true},
                  {"real_tokens_per_second", tokens / seconds},
                  {"dataset_tokens_per_second", 0.98 * tokens / seconds},
                  {"train_runtime", seconds},
                  {"real_tokens", static_cast<int64_t>(tokens)},
                  {"padded_tokens", static_cast<int64_t>(0.11 * tokens)},
                  {"supervised_tokens", static_cast<int64_t>(0.52 * tokens)},
                  {"peak_tensor_bytes", static_cast<int64_t>(peak)},
                  {"load_peak_tensor_bytes", static_cast<int64_t>(0.3 * kGib)},
                  {"forward_peak_tensor_bytes", static_cast<int64_t>(0.8 * peak)},
                  {"backward_peak_tensor_bytes", static_cast<int64_t>(peak)},
                  {"optimizer_peak_tensor_bytes", static_cast<int64_t>(0.6 * peak)},
                  {"max_rss_bytes", static_cast<int64_t>(peak + 0.38 * kGib)},
                  {"cpu_compute_utilization", 188.0},
                  {"training_steps", int64_t{point.steps}}};
  if (const measure::MeanEstimate rate = measure::RatioInterval(steps.tokens, steps.seconds); rate.has_interval()) {
    m.properties["real_tokens_per_second_ci_low"] = rate.interval.low;
    m.properties["real_tokens_per_second_ci_high"] = rate.interval.high;
  }
  m.units = {{"real_tokens_per_second", "tokens/s"},
             {"dataset_tokens_per_second", "tokens/s"},
             {"train_runtime", "s"},
             {"peak_tensor_bytes", "B"},
             {"max_rss_bytes", "B"},
             {"cpu_compute_utilization", "%"}};
}

}  // namespace

Measurement MakeValid(const SyntheticPoint& point) {
  std::mt19937_64 random(point.seed);
  Measurement m = Bare(point);
  m.outcome = Outcome::kValid;
  const Steps steps = MakeSteps(point, random);
  AddTargets(point, steps, m);
  AddSamples(point, std::get<double>(m.properties["train_runtime"]),
             static_cast<double>(std::get<int64_t>(m.properties["max_rss_bytes"])), random, m);
  m.series["step_seconds"] = steps.seconds;
  m.series["step_real_tokens"] = steps.tokens;
  m.series["loss"] = steps.loss;
  return m;
}

Measurement MakeInvalid(const SyntheticPoint& point, std::string reason) {
  Measurement m = Bare(point);
  m.outcome = Outcome::kInvalid;
  m.reason = std::move(reason);
  m.properties = {{"is_valid", false}};
  if (m.reason.starts_with("out of memory")) {
    m.provenance["out_of_memory_found_by"] = "worker";
  }
  return m;
}

Measurement MakeFailed(const SyntheticPoint& point, std::string reason) {
  Measurement m = Bare(point);
  m.outcome = Outcome::kFailed;
  m.reason = std::move(reason);
  return m;
}

std::vector<Measurement> DemoSpace() {
  std::vector<Measurement> measurements;
  uint64_t seed = 0;
  for (const char* method : {"full", "lora"}) {
    for (int64_t length : {128, 256}) {
      for (int64_t batch : {1, 4}) {
        measurements.push_back(MakeValid({.method = method,
                                          .max_length = length,
                                          .batch_size = batch,
                                          .steps = static_cast<int>(14 * 2000 / (260 + length * batch)),
                                          .seed = ++seed}));
      }
    }
  }
  return measurements;
}

}  // namespace assay::report::testing
