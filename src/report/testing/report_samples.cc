// Writes reports of made-up measurements into a folder, for tests of the page and for looking at it:
// report_samples DIRECTORY
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "report/report_form.h"
#include "report/results_table.h"
#include "report/testing/synthetic.h"

namespace assay::report::testing {
namespace {

using Measurements = std::vector<samplestore::Measurement>;

constexpr const char* kOutOfMemory =
    "out of memory: the worker asked for 1.2 GiB beyond its budget of 4.0 GiB "
    "(backward pass of step 1); lower the batch size or raise --memory-budget";
constexpr const char* kKilled = "the worker was killed by signal 9 (SIGKILL) after step 3 of 20";

Measurements Mixed() {
  Measurements measurements = DemoSpace();
  measurements[3] = MakeInvalid({.method = "full", .max_length = 256, .batch_size = 4, .seed = 4}, kOutOfMemory);
  measurements[6] = MakeFailed({.method = "lora", .max_length = 256, .batch_size = 1, .seed = 7}, kKilled);
  return measurements;
}

Measurements Many() {
  Measurements measurements;
  uint64_t seed = 0;
  for (const char* model : {"smollm2-135m", "smollm2-360m", "granite-3.1-2b", "llama3.2-1b", "mistral-7b-v0.1"}) {
    for (const char* method : {"full", "lora"}) {
      for (int64_t length : {512, 1024, 2048, 4096}) {
        for (int64_t batch : {1, 2, 4, 8, 16}) {
          const SyntheticPoint point{.model = model,
                                     .method = method,
                                     .max_length = length,
                                     .batch_size = batch,
                                     .steps = 60,
                                     .seed = ++seed,
                                     .gpu = true};
          const bool too_large = length * batch > 16384 || (seed % 17 == 0 && batch > 2);
          measurements.push_back(too_large ? MakeInvalid(point, kOutOfMemory) : MakeValid(point));
        }
      }
    }
  }
  return measurements;
}

Measurements LongNames() {
  Measurements measurements;
  uint64_t seed = 0;
  for (const char* model : {"/home/someone/models/fine-tuned/2026/january/the-one-with-a-very-long-name-that-never-ends"
                            "-SmolLM2-135M-Instruct-v2-final",
                            "/srv/<b>bold</b>&\"quoted\"/granite-3.1-2b-instruct-with-an-adapter"}) {
    for (const char* method : {"full", "lora"}) {
      for (int64_t batch : {1, 2, 4}) {
        measurements.push_back(
            MakeValid({.model = model, .method = method, .batch_size = batch, .steps = 200, .seed = ++seed}));
      }
    }
  }
  return measurements;
}

Measurements NoneValid() {
  return {MakeInvalid({.method = "full", .batch_size = 8, .seed = 1}, kOutOfMemory),
          MakeFailed({.method = "lora", .batch_size = 8, .seed = 2}, kKilled)};
}

Measurements Repeated() {
  Measurements measurements = DemoSpace();
  for (uint64_t repeat = 1; repeat <= 2; ++repeat) {
    Measurements again = DemoSpace();
    for (samplestore::Measurement& measurement : again) {
      measurement.uid += fmt::format("-{}", repeat);
      measurement.measured_at.replace(11, 2, fmt::format("{}", 12 + repeat));
      double& throughput = std::get<double>(measurement.properties["real_tokens_per_second"]);
      throughput *= 1 + 0.02 * static_cast<double>(repeat);
    }
    measurements.insert(measurements.end(), again.begin(), again.end());
  }
  for (size_t i = 0; i < measurements.size(); ++i) {
    auto& properties = measurements[i].properties;
    int64_t& peak = std::get<int64_t>(properties.at("peak_tensor_bytes"));
    properties["predicted_peak_bytes"] = peak / 100 * 97;
    peak += peak / 1000 * static_cast<int64_t>(i % 5);
  }
  return measurements;
}

/// The demo on two machines, the second with a later commit too.
Measurements TwoHosts() {
  Measurements measurements = DemoSpace();
  Measurements others = DemoSpace();
  for (samplestore::Measurement& measurement : others) {
    measurement.uid += "-laptop";
    measurement.provenance["host"] = "laptop";
    measurement.provenance["commit"] = "9d2c6e1";
    measurement.measured_at.replace(11, 2, "15");
    for (const char* property :
         {"real_tokens_per_second", "real_tokens_per_second_ci_low", "real_tokens_per_second_ci_high"}) {
      std::get<double>(measurement.properties.at(property)) /= 10;
    }
  }
  measurements.insert(measurements.end(), others.begin(), others.end());
  return measurements;
}

/// Names, hosts and reasons that want to be markup, are five thousand characters long, or are no UTF-8; values that are
/// no numbers or are not there.
Measurements Hostile() {
  const std::string markup =
      "<img src=x onerror=\"document.title='owned'\">&amp;</script><script>document.title='owned'</script>";
  Measurements measurements = {
      MakeValid({.model = markup, .batch_size = 1, .seed = 1}),
      MakeValid({.model = std::string(5000, 'n'), .batch_size = 1, .seed = 2}),
      MakeValid({.model = "javascript:alert(1)", .batch_size = 2, .seed = 3}),
      MakeValid({.model = "\xff\xfe no text \x01", .batch_size = 4, .seed = 4}),
      MakeInvalid({.model = "{{constructor.constructor('alert(1)')()}}", .batch_size = 2, .seed = 5}, markup),
      MakeFailed({.model = "=HYPERLINK(\"x\")", .batch_size = 2, .seed = 6}, std::string(5000, 'e') + markup)};
  measurements[0].provenance["host"] = markup;
  measurements[1].provenance["host"] = std::string(5000, 'h');
  measurements[1].provenance["dataset"] = markup;
  measurements[2].properties["real_tokens_per_second"] = std::nan("");
  measurements[2].properties["peak_tensor_bytes"] = INFINITY;
  measurements[3].properties = {{"is_valid", true}, {markup, 1.5}, {"__proto__", 2.5}, {"constructor", 1.0}};
  measurements[3].series["<b>"] = {1, 2, 3};
  measurements[0].properties[""] = 4.5;
  measurements[0].series[""] = {4, 5};
  measurements[0].provenance[""] = "";
  return measurements;
}

/// As `assay store import` reads them.
std::string JsonLines(const Measurements& measurements) {
  std::string lines;
  for (const samplestore::Measurement& measurement : measurements) {
    lines += DumpJson(samplestore::ToJson(measurement)) + "\n";
  }
  return lines;
}

struct Sample {
  const char* name;
  Measurements measurements;
  std::vector<UnmeasuredPoint> unmeasured = {};
};

Sample Vit() {
  constexpr size_t kMeasured = 349;
  Sample sample{"vit", {}};
  sample.measurements = VitSpace(kMeasured, &sample.unmeasured);
  return sample;
}

int Main(const std::string& directory) {
  if (const Status made = MakeDirectories(directory); !made.ok()) {
    fmt::print(stderr, "report_samples: {}\n", made.message());
    return ExitCode(made);
  }
  const Sample samples[] = {{"demo", DemoSpace()},
                            {"mixed", Mixed()},
                            {"many", Many()},
                            {"one", {DemoSpace()[7]}},
                            {"none", {}},
                            {"none_valid", NoneValid()},
                            {"long_names", LongNames()},
                            {"repeated", Repeated()},
                            {"two_hosts", TwoHosts()},
                            Vit(),
                            {"hostile", Hostile()},
                            {"ten_thousand", ManyPoints(10'000)}};
  for (const auto& [name, measurements, unmeasured] : samples) {
    const ReportInput input{.title = fmt::format("Sample: {}", name),
                            .space_description = "Made up, to look at the page <and to test it>.",
                            .measurements = measurements,
                            .planned_points = unmeasured.empty() ? 0 : measurements.size() + unmeasured.size(),
                            .unmeasured = unmeasured,
                            .generated_at = "2026-01-31T13:00:00Z"};
    const std::string base = fmt::format("{}/{}", directory, name);
    for (const auto& [path, text] : {std::pair(base + ".html", RenderReport(input, Form::kHtml)),
                                     std::pair(base + ".json", RenderReport(input, Form::kJson)),
                                     std::pair(base + ".parquet", RenderReport(input, Form::kParquet)),
                                     std::pair(base + ".report.csv", RenderReport(input, Form::kCsv)),
                                     std::pair(base + ".txt", RenderResultsTable(measurements)),
                                     std::pair(base + ".csv", RenderResultsCsv(measurements)),
                                     std::pair(base + ".jsonl", JsonLines(measurements))}) {
      if (const Status written = WriteFileAtomically(path, text); !written.ok()) {
        fmt::print(stderr, "report_samples: {}\n", written.message());
        return ExitCode(written);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace assay::report::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: report_samples DIRECTORY\n");
    return 2;
  }
  return assay::report::testing::Main(argv[1]);
}
