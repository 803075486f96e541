// Reports of other people's measurements: whatever these hold, the page has the elements that it has without them, and
// nothing of theirs ends one.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_input.h"
#include "report/report_form.h"
#include "samplestore/measurement.h"

namespace {

using assay::samplestore::Measurement;

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::string PageOf(const std::vector<Measurement>& measurements) {
  const std::string title = measurements.empty() ? "none" : measurements.front().experiment;
  const assay::report::ReportInput input{.title = title, .measurements = measurements, .generated_at = "now"};
  assay::fuzz::Require(!RenderReport(input, assay::report::Form::kJson).empty(), "there is a model");
  assay::fuzz::Require(!RenderReport(input, assay::report::Form::kCsv).empty(), "there is a table");
  return RenderReport(input, assay::report::Form::kHtml);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Measurement> measurements;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    assay::Result<Measurement> measurement = assay::samplestore::MeasurementFromJson(json);
    if (measurement.ok()) {
      measurements.push_back(*std::move(measurement));
    }
  }
  static const std::string empty = PageOf({});
  const std::string page = PageOf(measurements);
  for (const char* part : {"<script", "</script", "<img", "<iframe", "<style", "</style", "<link", "<meta", "<body"}) {
    assay::fuzz::Require(CountOf(page, part) == CountOf(empty, part), "no element is somebody else's");
  }
  return 0;
}
