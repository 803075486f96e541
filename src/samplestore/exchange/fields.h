// A measurement as one text for each of a fixed set of columns: what files of rows hold of it.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/exchange/content_chain.h"
#include "samplestore/measurement.h"

namespace assay::samplestore {

/// Names of the columns, in their order. Those of texts hold them as they are, the others JSON. The last is the
/// checksum's.
std::span<const std::string_view> FieldNames();

/// All of `measurement`, the next of a file, a field for each of FieldNames().
std::vector<std::string> FieldsOf(const Measurement& measurement, ContentChain& chain);

/// Of a column that a file does not have.
inline constexpr size_t kNoPlace = std::numeric_limits<size_t>::max();

/// Reads the measurements of a file, one after the other.
class FieldReader {
 public:
  /// `places` are those of the file's columns, by PlacesOfFields().
  explicit FieldReader(std::span<const size_t> places);
  /// `fields` as FieldsOf() makes them, which must be what was written where the file has checksums. An error names
  /// `where` and the column.
  Result<Measurement> Read(std::span<const std::string_view> fields, const std::string& where);

 private:
  const bool has_checksums_;
  ContentChain chain_;
};

/// One in its JSON form. Refuses one without a uid, an experiment or the ids of its point, and one whose entity has
/// another id.
Result<Measurement> WholeMeasurement(const nlohmann::json& json, const std::string& where);

/// Where each of FieldNames() stands in `names`, which are the columns of `file`. Refuses other names than those, one
/// that is missing and one that comes twice, in one line that says what to do. Only the checksum may be missing
/// (kNoPlace): files of older programs have none.
Result<std::vector<size_t>> PlacesOfFields(std::span<const std::string_view> names, const std::string& file);

}  // namespace assay::samplestore
