// Fills a store with measurements of the usual size, and times what `assay results` asks of it.
//
// Usage: store_bench [COUNT] [PATH]   (100000 measurements in a temporary folder; a store at PATH is filled up to
// COUNT)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "samplestore/sample_store.h"

namespace assay::samplestore {
namespace {

Measurement Example(int64_t index) {
  constexpr int kTargets = 65;
  constexpr int kSteps = 100;
  Measurement measurement;
  measurement.uid = RandomUid();
  measurement.experiment = index % 2 == 0 ? "finetune_full_benchmark-v1.0.0" : "finetune_lora_benchmark-v1.0.0";
  measurement.parameterized_id = measurement.experiment + "-stop_after_seconds.30";
  measurement.entity = {{"model_name", fmt::format("model-{}", index % 30)},
                        {"batch_size", int64_t{1} << (index / 30 % 8)},
                        {"model_max_length", int64_t{512} << (index / 240 % 6)},
                        {"number_gpus", index / 1440}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.outcome = index % 10 == 0 ? Outcome::kInvalid : Outcome::kValid;
  for (int i = 0; i < kTargets; ++i) {
    measurement.properties[fmt::format("target_property_{}", i)] = 1.25 * static_cast<double>(index + i);
    measurement.units[fmt::format("target_property_{}", i)] = "tokens/s";
  }
  for (int i = 0; i < 16; ++i) {
    measurement.provenance[fmt::format("provenance_{}", i)] = std::string(30, 'x');
  }
  measurement.series["loss"] = std::vector<double>(kSteps, 2.5);
  measurement.series["step_seconds"] = std::vector<double>(kSteps, 0.5);
  measurement.measured_at = UtcTimestamp();
  return measurement;
}

double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void Time(const std::string& what, const std::function<Result<int64_t>()>& body) {
  const double start = MonotonicSeconds();
  const double cpu_start = CpuSeconds();
  const Result<int64_t> count = body();
  const double cpu_seconds = CpuSeconds() - cpu_start;
  fmt::print("{:<48} {:>7} rows  {:>8} wall  {:>8} CPU\n", what, count.ok() ? *count : -1,
             FormatSeconds(MonotonicSeconds() - start), FormatSeconds(cpu_seconds));
}

Result<int64_t> CountRows(SampleStore& store, const MeasurementFilter& filter,
                          const std::vector<std::string>& columns) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<MeasurementRow> rows, store.ListRows(filter, columns));
  return static_cast<int64_t>(rows.size());
}

Status Run(int64_t count, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenStore("sqlite:///" + path));
  ASSAY_ASSIGN_OR_RETURN(const int64_t present, store->Count({}));
  const double start = MonotonicSeconds();
  for (int64_t index = present; index < count; ++index) {
    ASSAY_RETURN_IF_ERROR(store->Append(Example(index)));
  }
  fmt::print("{} measurements appended in {}\n", std::max<int64_t>(0, count - present),
             FormatSeconds(MonotonicSeconds() - start));
  const std::vector<std::string> columns = {"model_name",        "batch_size",        "model_max_length", "number_gpus",
                                            "target_property_3", "target_property_7", "target_property_9"};
  Time("list all rows", [&] { return CountRows(*store, {}, {}); });
  Time("list all rows with 7 columns", [&] { return CountRows(*store, {}, columns); });
  Time("filter by experiment and outcome, 7 columns", [&] {
    return CountRows(*store, {.experiment = "finetune_full_benchmark-v1.0.0", .outcome = Outcome::kInvalid}, columns);
  });
  Time("filter by two entity properties, 7 columns", [&] {
    return CountRows(*store, {.entity = {{"batch_size", int64_t{4}}, {"model_name", std::string("model-7")}}}, columns);
  });
  Time("newest 50 rows", [&] { return CountRows(*store, {.newest_first = true, .limit = 50}, columns); });
  Time("count valid", [&] { return store->Count({.outcome = Outcome::kValid}); });
  Time("all measurements, one by one", [&]() -> Result<int64_t> {
    int64_t documents = 0;
    ASSAY_RETURN_IF_ERROR(store->ForEach({}, false, [&](const Measurement& measurement) {
      documents += measurement.uid.empty() ? 0 : 1;
      return Status::Ok();
    }));
    return documents;
  });
  Time("2000 whole measurements, parsed", [&]() -> Result<int64_t> {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<Measurement> list, store->List({.limit = 2000}, false));
    return static_cast<int64_t>(list.size());
  });
  Time("find one point by its key", [&]() -> Result<int64_t> {
    ASSAY_ASSIGN_OR_RETURN(const auto found, store->FindMeasured(KeyOf(Example(777))));
    return found.has_value() ? 1 : 0;
  });
  return Status::Ok();
}

}  // namespace
}  // namespace assay::samplestore

int main(int argc, char** argv) {
  constexpr int64_t kDefaultCount = 100'000;
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : kDefaultCount;
  const auto directory = assay::TemporaryDirectory::Create("store-bench");
  if (!directory.ok()) {
    fmt::print(stderr, "store_bench: {}\n", directory.status().message());
    return assay::ExitCode(directory.status());
  }
  const assay::Status status = assay::samplestore::Run(count, argc > 2 ? argv[2] : directory->path() + "/runs.db");
  if (!status.ok()) {
    fmt::print(stderr, "store_bench: {}\n", status.message());
  }
  return assay::ExitCode(status);
}
