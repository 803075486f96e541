// What a run was made with beside its point: the machine, the programs, and what the point's names stood for.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samplestore/measurement.h"

namespace assay::report {

class Declared;

/// Conditions by their provenance key.
using Conditions = std::map<std::string, std::string>;

/// The keys of all conditions, in the order in which they head a table: runs that differ in any of them, where both
/// tell it, are never taken together.
std::vector<std::string> AllConditions();

/// The keys by which `measurements` must not be taken together: machine, GPU, libtorch and commit where two of them
/// occur; the content of model, tokeniser and data where one name stood for two; threads and instruction set where one
/// point ran with two. In the order in which they head a table.
std::vector<std::string> SeparatingConditions(std::span<const samplestore::Measurement> measurements,
                                              const Declared& declared);

/// Those of `keys` that `measurement` tells; a run that never started does not know all.
Conditions ConditionsOf(const samplestore::Measurement& measurement, const std::vector<std::string>& keys);

/// A point that gave no values may join runs that differ from it in nothing that it tells.
bool Agree(const Conditions& a, const Conditions& b);

/// What a table calls the condition ("data" for data_hash); nothing when `key` is none.
std::optional<std::string_view> ConditionLabel(std::string_view key);

/// A provenance entry, as long as `measurement` is there; empty when there is none.
const std::string& ProvenanceOf(const samplestore::Measurement& measurement, std::string_view key);

/// The run waited for a processor for more than a tenth of its time: it is slower than the machine.
bool WasStarved(const samplestore::Measurement& run);

}  // namespace assay::report
