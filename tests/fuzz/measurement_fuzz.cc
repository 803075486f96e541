// Measurements as JSON, of any program: what is read can be written, and comes back out of a store's columns as it was.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fuzz_input.h"
#include "samplestore/measurement.h"
#include "samplestore/sql/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  const Result<nlohmann::json> json = ParseJson({reinterpret_cast<const char*>(data), size}, "file");
  if (!json.ok()) {
    return 0;
  }
  const Result<samplestore::Measurement> read = samplestore::MeasurementFromJson(*json);
  if (!read.ok()) {
    fuzz::Require(read.status().message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const std::string written = DumpJson(samplestore::ToJson(*read));
  const auto again = samplestore::MeasurementFromJson(*ParseJson(written, "again"));
  fuzz::Require(again.ok() && DumpJson(samplestore::ToJson(*again)) == written, "what was written reads the same");

  std::vector<samplestore::KnownTerm> description;
  for (samplestore::Term& term : samplestore::DescriptionOf(*again)) {
    description.push_back({.term = std::move(term), .content = {}});
  }
  std::vector<samplestore::KnownTerm*> terms;
  for (samplestore::KnownTerm& term : description) {
    terms.push_back(&term);
  }
  samplestore::Measurement stored = *again;
  stored.entity.clear();
  stored.properties.clear();
  fuzz::Require(samplestore::Describe(terms, samplestore::ValuesText(*again), "store", stored).ok(),
                "columns are read");
  fuzz::Require(stored.entity.size() == again->entity.size() && stored.properties == again->properties,
                "columns hold the measurement");
  const samplestore::PackedSeries packed = samplestore::PackSeries(*again);
  fuzz::Require(samplestore::UnpackSeries(packed.lengths, packed.bytes, "store", stored).ok(), "series are read");
  return 0;
}
