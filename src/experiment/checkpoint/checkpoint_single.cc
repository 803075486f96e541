// checkpoint_single_benchmark-v1.0.0: one Lightning checkpoint in one file, to a disk or a bucket.
//
// dataflux-pytorch, demo/lightning/checkpoint/singlenode/train.py: the demo Transformer, layers, steps and the
// arithmetic.
#include <fmt/format.h>

#include "experiment/checkpoint/checkpoint_benchmark.h"
#include "experiment/measured_values.h"
#include "experiment/property_spec.h"

namespace assay::experiment {
namespace {

using space::Value;

std::vector<CheckpointProperty> SingleProperties() {
  return {
      {As({.label = "layers", .role = Role::kBatchSize},
          Required("layers", Integers(1, 1001),
                   "encoder and decoder layers of the demo Transformer for WikiText2; the reference has 10, 100 and "
                   "1000: 76 MB, 298 MB and 2.5 GB",
                   "layers")),
       &CheckpointField<&job::CheckpointPlan::layers>},
      {Optional("steps", Integers(1, 1001), int64_t{5}, "saves or loads that are measured, each after a training step",
                "steps")},
  };
}

Status SpecializeSingle(const space::Entity& point, const PlanContext&, job::CheckpointPlan& plan) {
  plan.format = "ckpt";
  plan.streams = plan.client == "assay-stream" ? 1 : 0;
  return Status::Ok();
}

/// total / steps, and one average.
void MeasureSingle(const space::Entity& point, const job::RunRecord& run, Measured& values) {
  double seconds = 0;
  for (const double span : values.series["span_seconds"]) {
    seconds += span;
  }
  double training = 0;
  for (const job::Step& step : job::Steps(run)) {
    training += step.seconds;
  }
  const auto steps = static_cast<double>(values.series["span_seconds"].size());
  values.properties["time_to_train"] = training;
  values.properties["time_to_save_one_checkpoint"] = seconds / steps;
  values.properties["mb_per_s"] =
      static_cast<double>(std::get<int64_t>(values.properties["state_bytes"])) / 1e6 / (seconds / steps);
}

/// The table of its first version.
PublishedFigures PublishedTable() {
  struct Row {
    const char* client;
    int64_t layers;
    const char* megabytes;
    const char* seconds;
    const char* rate;
  };
  constexpr Row kRows[] = {
      {"lightning", 10, "75.6", "1.64", "46.1"},   {"dataflux", 10, "75.6", "2.07", "36.5"},
      {"lightning", 100, "298", "5.21", "57.2"},   {"dataflux", 100, "298", "7.04", "42.3"},
      {"lightning", 1000, "2500", "39.1", "63.9"}, {"dataflux", 1000, "2500", "53.7", "46.6"},
  };
  PublishedFigures figures{
      .title = "Published figures of the Lightning checkpoint",
      .note =
          "Of the README of gcs-torch-dataflux's demo: saves into a bucket of Google Cloud Storage, through fsspec "
          "and by Dataflux, before it had multipart uploads. A bucket over a network, so that its times compare "
          "with no disk and no loopback.",
      .columns = {"client, layers", "MB", "s a save", "MB/s", "ours, s a save", "ours, MB/s"}};
  for (const Row& row : kRows) {
    figures.rows.push_back(
        {.point = {{"client", std::string(row.client)}, {"layers", row.layers}},
         .cells = {fmt::format("{}, {}", row.client, row.layers), row.megabytes, row.seconds, row.rate}});
  }
  figures.own = {{.target = "time_to_save_one_checkpoint"}, {.target = "mb_per_s"}};
  return figures;
}

// clang-format off
std::vector<TargetSpec> SingleTargets() {
  constexpr Definition kRef = Definition::kReference;
  return {
      {"time_to_train", "s", kRef, "\"Time to train over N steps\": of a load's point of the one step before its save"},
      {"time_to_save_one_checkpoint", "s", kRef, "\"Time to save one checkpoint\": all saves / steps; of loads likewise"},
      {"mb_per_s", "MB/s", kRef, "bytes of the parameters / that time"},
  };
}
// clang-format on

}  // namespace

const Experiment& CheckpointSingleBenchmark() {
  static const CheckpointExperiment experiment(
      {.id = "checkpoint_single_benchmark-v1.0.0",
       .description = "Time, memory and processors of a Lightning checkpoint in one file, to disks and buckets",
       .clients = {{"assay", true, true, true},
                   {"assay-stream", false, true, true},
                   {"assay-async", true, true, true},
                   {"s3torchconnector", false, true},
                   {.name = "dataflux", .on_disk = true, .in_buckets = true, .is_supported = false},
                   {"lightning", true, true}},
       .repeats = "steps",
       .properties = SingleProperties(),
       .specialize = &SpecializeSingle,
       .targets = SingleTargets(),
       .measure = &MeasureSingle,
       .report = {.published = {PublishedTable()}}});
  return experiment;
}

}  // namespace assay::experiment
