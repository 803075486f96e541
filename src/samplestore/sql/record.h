// A measurement as the columns of its row, and back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"
#include "samplestore/sql/dictionary.h"

namespace assay::samplestore {

/// What describes `measurement`: entity, parameters, provenance, dependencies, names and units of its targets.
std::vector<Term> DescriptionOf(const Measurement& measurement);

/// What measurements are found by beside their ids: experiment, parameterized id, outcome, entity, host, commit and
/// kind of machine.
std::vector<Term> FoundBy(const Measurement& measurement);

/// The values of the targets in the order of their names, as a JSON list.
std::string ValuesText(const Measurement& measurement);

/// Series end to end as little-endian doubles, and how many values each has, by name, as a JSON object.
struct PackedSeries {
  std::string lengths;  ///< "" without series
  std::string bytes;
};
PackedSeries PackSeries(const Measurement& measurement);

/// Puts the terms that describe a measurement back to where DescriptionOf took them, and the values of its targets.
/// `store` is what an error names. What a term says is read once, and kept in it.
Status Describe(std::span<KnownTerm* const> terms, std::string_view values, std::string_view store,
                Measurement& measurement);

Status UnpackSeries(std::string_view lengths, std::string_view bytes, std::string_view store, Measurement& measurement);

/// `text` as databases take it: UTF-8 without zeros. What a program wrote before it died may be anything.
std::string CleanText(const std::string& text);

/// A property's value as JSON, as terms hold it.
std::string ValueText(const space::Value& value);

}  // namespace assay::samplestore
