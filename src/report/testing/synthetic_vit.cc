// A made-up space of parallel plugins: ranks, batch sizes, precisions, memory by a ledger, lanes of phases.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

#include "experiment/phase_series.h"
#include "measure/statistics.h"
#include "report/testing/synthetic.h"

namespace assay::report::testing {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

constexpr char kExperiment[] = "vit_plugin_benchmark-v1.0.0";
constexpr double kMib = 1024.0 * 1024.0;
constexpr int kVitSteps = 20;
constexpr double kVitLoadSeconds = 1.4;

struct Plugin {
  const char* name;
  double fixed;      // seconds of a step
  double each;       // of an image
  double state_mib;  // parameters, gradients, moments
  double sharded;    // part of that which is split over ranks
  double exposed;    // part of backward that waits for communication, over ranks
};

// clang-format off
constexpr std::array kPlugins = {
    Plugin{"torch_ddp", 0.030, 0.0410, 1320, 0.0, 0.10},
    Plugin{"torch_ddp_fp16", 0.034, 0.0302, 1490, 0.0, 0.12},
    Plugin{"low_level_zero", 0.052, 0.0290, 1180, 0.7, 0.16},
    Plugin{"gemini", 0.088, 0.0296, 990, 0.9, 0.21},
    Plugin{"FULL_SHARD", 0.064, 0.0402, 1320, 1.0, 0.24},
    Plugin{"SHARD_GRAD_OP", 0.055, 0.0404, 1320, 0.75, 0.18},
    Plugin{"HYBRID_SHARD", 0.061, 0.0403, 1320, 0.5, 0.20},
};
// clang-format on

struct VitPoint {
  const Plugin& plugin;
  int64_t batch = 8;
  int64_t ranks = 1;
  const char* precision = "fp32";
  uint64_t seed = 1;
};

Measurement BareVit(const VitPoint& point) {
  Measurement m = MakeFailed({.seed = point.seed}, "");
  m.uid = fmt::format("{:032x}", point.seed * 2654435761u);
  m.experiment = m.parameterized_id = kExperiment;
  m.entity = {{"plugin", std::string(point.plugin.name)},
              {"batch_size", point.batch},
              {"model_name", std::string("vit-s/16")},
              {"number_gpus", int64_t{0}},
              {"number_ranks", point.ranks},
              {"precision", std::string(point.precision)}};
  m.entity_id = space::EntityId(m.entity);
  m.provenance.erase("tokenizer");
  m.provenance["dataset"] = "digits";
  return m;
}

/// Phases of each step of each rank, one rank a little late now and then.
void AddLanes(const VitPoint& point, double step, std::mt19937_64& random, Measurement& m) {
  std::normal_distribution<double> noise;
  double began = kVitLoadSeconds;
  m.series[experiment::SpanSeries("load")] = {0.05, kVitLoadSeconds};
  for (int i = 0; i < kVitSteps; ++i) {
    const double seconds = step * (i == 0 ? 1.7 : 1 + 0.04 * std::abs(noise(random))) * (i == 13 ? 1.5 : 1);
    for (int64_t rank = 0; rank < point.ranks; ++rank) {
      const double late = point.ranks > 1 ? 0.02 * static_cast<double>(rank) * seconds : 0;
      const double waited = point.ranks > 1 ? point.plugin.exposed * 0.55 * seconds - late : 0;
      const double parts[] = {0.04 * seconds, 0.31 * seconds, 0.55 * seconds - waited, waited, 0.08 * seconds};
      constexpr const char* kNames[] = {"data", "forward", "backward", "communication", "optimizer"};
      for (size_t part = 0; part < std::size(parts); ++part) {
        m.series[experiment::PhaseSeries(rank, kNames[part])].push_back(parts[part]);
      }
      m.series[experiment::StepBeganSeries(rank)].push_back(began);
      m.series[experiment::StepSecondsSeries(rank)].push_back(seconds);
    }
    m.series["step_seconds"].push_back(seconds);
    m.series["loss"].push_back(2.4 * std::exp(-0.05 * i) + 0.03 * noise(random));
    began += seconds;
  }
}

void AddMemoryOf(const VitPoint& point, Measurement& m) {
  const auto ranks = static_cast<double>(point.ranks);
  const double kept = point.plugin.state_mib * (1 - point.plugin.sharded * (1 - 1 / ranks));
  const double activations = 21.0 * static_cast<double>(point.batch);
  const double peak = kept + activations + 60;
  const auto bytes = [](double mib) { return static_cast<int64_t>(mib * kMib); };
  m.properties["peak_tensor_bytes"] = bytes(peak);
  m.properties["predicted_peak_bytes"] = bytes(peak * (0.97 + 0.0004 * static_cast<double>(point.batch % 61)));
  m.properties["init_peak_tensor_bytes"] = bytes(kept * 0.7);
  m.properties["ledger_parameters_bytes"] = bytes(kept * 0.25);
  m.properties["ledger_gradients_bytes"] = bytes(kept * 0.25);
  m.properties["ledger_moments_bytes"] = bytes(kept * 0.5);
  m.properties["ledger_activations_bytes"] = bytes(activations);
  m.properties["ledger_temporaries_bytes"] = bytes(60);
  m.properties["max_rss_bytes"] = bytes(peak + 420);
}

Measurement MakeVit(const VitPoint& point) {
  std::mt19937_64 random(point.seed);
  std::normal_distribution<double> noise;
  Measurement m = BareVit(point);
  m.outcome = Outcome::kValid;
  m.reason.clear();
  const double half = std::string_view(point.precision) == "bf16" ? 0.72 : 1;
  const double contention = 1 + 0.9 * static_cast<double>(point.ranks - 1);
  const double step = (point.plugin.fixed * (1 + 0.35 * static_cast<double>(point.ranks - 1)) +
                       half * point.plugin.each * static_cast<double>(point.batch) * contention * 0.62) *
                      (1 + 0.01 * noise(random));
  const double images = static_cast<double>(point.batch * point.ranks) / step;
  m.properties["is_valid"] = int64_t{1};
  m.properties["images_per_second"] = images;
  m.properties["images_per_second_ci_low"] = images * 0.975;
  m.properties["images_per_second_ci_high"] = images * 1.026;
  m.properties["step_seconds_median"] = step;
  m.properties["training_steps"] = int64_t{kVitSteps};
  m.properties["exposed_communication_seconds"] = point.ranks > 1 ? step * 0.55 * point.plugin.exposed : 0;
  m.properties["data_seconds"] = 0.04 * step;
  m.properties["forward_seconds"] = 0.31 * step;
  m.properties["backward_seconds"] = 0.55 * step;
  m.properties["optimizer_seconds"] = 0.08 * step;
  m.properties["model_flops_utilization"] = 38.0 * images / (images + 14);
  m.units = {{"images_per_second", "images/s"}, {"peak_tensor_bytes", "B"}, {"step_seconds_median", "s"}};
  AddMemoryOf(point, m);
  AddLanes(point, step, random, m);
  return m;
}

Measurement MakeVitWithoutValues(const VitPoint& point, Outcome outcome, std::string reason, bool memory) {
  Measurement m = BareVit(point);
  m.outcome = outcome;
  m.reason = std::move(reason);
  if (memory) {
    m.provenance["out_of_memory_found_by"] = "worker";
  }
  return m;
}

/// What becomes of a point, as such spaces go.
Measurement Run(const VitPoint& point) {
  const double mib = point.plugin.state_mib + 21.0 * static_cast<double>(point.batch);
  if (mib * static_cast<double>(point.ranks) > 11000) {
    return MakeVitWithoutValues(point, Outcome::kInvalid,
                                "out of memory: a rank needs 3.1 GiB, and the machine has 2.7 GiB for each", true);
  }
  if (std::string_view(point.plugin.name) == "HYBRID_SHARD" && point.ranks == 1) {
    return MakeVitWithoutValues(point, Outcome::kInvalid, "HYBRID_SHARD needs two ranks or more", false);
  }
  if (point.seed % 61 == 0) {
    return MakeVitWithoutValues(point, Outcome::kFailed, "the worker was killed by signal 9 (SIGKILL) after step 3",
                                false);
  }
  return MakeVit(point);
}

}  // namespace

std::vector<Measurement> VitSpace(size_t most, std::vector<UnmeasuredPoint>* unmeasured) {
  std::vector<Measurement> measurements;
  uint64_t seed = 0;
  for (const char* precision : {"fp32", "bf16"}) {
    for (const int64_t ranks : {1, 2, 4}) {
      for (const Plugin& plugin : kPlugins) {
        for (const int64_t batch : {1, 2, 4, 8, 16, 32, 64, 96, 128}) {
          const VitPoint point{plugin, batch, ranks, precision, ++seed};
          if (measurements.size() < most) {
            measurements.push_back(Run(point));
          } else if (unmeasured != nullptr) {
            const Measurement missing = BareVit(point);
            unmeasured->push_back({missing.experiment, missing.parameterized_id, missing.entity});
          }
        }
      }
    }
  }
  return measurements;
}

std::vector<Measurement> ManyPoints(size_t count) {
  std::vector<Measurement> measurements;
  std::mt19937_64 random(7);
  for (size_t i = 0; i < count; ++i) {
    const VitPoint point{kPlugins[i % kPlugins.size()], int64_t{1} << (i / kPlugins.size() % 8),
                         int64_t{1} << (i / 56 % 4), i / 224 % 2 == 0 ? "fp32" : "bf16", i + 1};
    Measurement m = Run(point);
    m.entity["threads"] = static_cast<int64_t>(i / 448 + 1);
    m.entity_id = space::EntityId(m.entity);
    m.series.clear();
    measurements.push_back(std::move(m));
  }
  return measurements;
}

}  // namespace assay::report::testing
