// A store, a small model and data set, and a runner that answers for a worker.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "experiment/catalogue.h"
#include "explore/measure_point.h"
#include "space/discovery_space.h"

namespace assay::explore::testing {

/// What a worker that did its job reports: `steps` steps of 0.1 s.
inline job::RunRecord DoneRun(int64_t steps = 5) {
  job::Started started;
  started.libtorch = "2.13.0";
  started.device = "cpu";
  job::Loaded loaded;
  loaded.seconds = 0.5;
  loaded.weights = "random";
  loaded.rows = 2;
  loaded.planned_steps = steps;
  job::RunRecord record;
  record.events = {started, loaded};
  for (int64_t i = 1; i <= steps; ++i) {
    job::Step step;
    step.step = i;
    step.loss = 3;
    step.seconds = 0.1;
    step.samples = 4;
    step.real_tokens = 40;
    record.events.emplace_back(step);
  }
  job::Ended ended;
  ended.train_runtime = 0.1 * static_cast<double>(steps);
  record.events.emplace_back(ended);
  record.event_seconds.assign(record.events.size(), 0.0);
  record.end = job::RunEnd::kDone;
  record.samples = {{"time_s", {0, 1}}, {"cpu_process_percent", {0, 100}}};
  return record;
}

inline job::RunRecord EndedRun(job::RunEnd end, const std::string& reason) {
  job::RunRecord record;
  record.end = end;
  record.reason = reason;
  record.stderr_tail = "last words";
  return record;
}

/// Of `point`, as a store would hold it from an earlier run.
inline samplestore::Measurement MeasurementOf(const experiment::BoundPoint& point, const std::string& uid,
                                              samplestore::Outcome outcome = samplestore::Outcome::kValid) {
  samplestore::Measurement measurement;
  measurement.uid = uid;
  measurement.experiment = point.experiment->id();
  measurement.parameterized_id = point.parameterized_id;
  measurement.entity = point.entity;
  measurement.entity_id = point.entity_id;
  measurement.outcome = outcome;
  return measurement;
}

class ExploreFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("explore");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    ASSERT_TRUE(MakeDirectories(Path("model")).ok());
    Write("model/config.json", R"({"model_type": "llama", "vocab_size": 100})");
    Write("rows.jsonl", "{\"input_ids\": [1, 2, 3], \"labels\": [1, 2, 3]}\n");
    store_ = OpenStore();
    options_.context = {.share_dir = ASSAY_SOURCE_DIR "/share", .cache_dir = Path("cache"), .threads = 0};
    options_.runner = [this](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
      ++runs_;
      return DoneRun();
    };
  }

  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }
  struct SpaceValues {
    std::string batch_sizes;
    std::string lengths = "64";
    std::string model = "";  ///< empty: the fixture's
    std::string numbers_of_gpus = "0";
    std::vector<int64_t> seeds = {42};  ///< an experiment for each
  };
  experiment::BoundSpace SpaceOf(const SpaceValues& values) const {
    std::string text = fmt::format(
        "entitySpace:\n"
        " - {{identifier: model_name, propertyDomain: {{values: ['{}']}}}}\n"
        " - {{identifier: number_gpus, propertyDomain: {{values: [{}]}}}}\n"
        " - {{identifier: model_max_length, propertyDomain: {{values: [{}]}}}}\n"
        " - {{identifier: batch_size, propertyDomain: {{values: [{}]}}}}\n"
        "metadata: {{name: test}}\n"
        "experiments:\n",
        values.model.empty() ? Path("model") : values.model, values.numbers_of_gpus, values.lengths,
        values.batch_sizes);
    for (const int64_t seed : values.seeds) {
      text += fmt::format(
          " - experimentIdentifier: finetune_full_benchmark-v1.0.0\n"
          "   parameterization:\n"
          "    - {{property: {{identifier: dataset_id}}, value: '{}'}}\n"
          "    - {{property: {{identifier: seed}}, value: {}}}\n",
          Path("rows.jsonl"), seed);
    }
    return experiment::BoundSpace::Bind(space::ParseDiscoverySpace(text, "space.yaml").value()).value();
  }
  std::unique_ptr<samplestore::SampleStore> OpenStore() {
    return samplestore::OpenStore("sqlite:///" + Path("runs.db")).value();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<samplestore::SampleStore> store_;
  MeasureOptions options_;
  std::atomic<int> runs_ = 0;
};

}  // namespace assay::explore::testing
