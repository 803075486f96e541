// Adds measurements to a store.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"
#include "samplestore/sql/connection.h"
#include "samplestore/sql/dictionary.h"

namespace assay::samplestore {

/// What Writer::Write needs of measurements beside themselves, made before a transaction begins.
struct Prepared {
  explicit Prepared(std::span<const Measurement> all);

  std::span<const Measurement> measurements;
  std::vector<std::vector<Term>> descriptions;  ///< one of each measurement, as are those below
  std::vector<std::vector<Term>> found_by;
};

/// Whose numbers the measurements get.
enum class Arrivals {
  kNew,    ///< the store's next
  kGiven,  ///< their own
};

class Writer {
 public:
  Writer(Connection& connection, Dictionary& dictionary) : connection_(connection), dictionary_(dictionary) {}

  /// Adds the terms that are new, which may be done in a transaction of its own: what nothing bears does no harm.
  Status AddTerms(const Prepared& prepared);
  bool KnowsTerms(const Prepared& prepared) const;
  /// Adds measurements whose terms the dictionary has, in a transaction. None of their uids is in the store.
  Status Write(const Prepared& prepared, Arrivals arrivals = Arrivals::kNew);

 private:
  using Points = std::map<std::pair<std::string, std::string>, int64_t>;  ///< by entity id and parameterized id

  Result<Points> FindOrMakePoints(std::span<const Measurement> measurements);
  Result<int64_t> FindOrMakePoint(const Measurement& measurement);
  /// The arrivals of `measurements`, in their order.
  Result<std::vector<int64_t>> InsertMeasurements(std::span<const Measurement> measurements, const Points& points,
                                                  Arrivals arrivals);
  Status InsertContents(const Prepared& prepared, size_t first, std::span<const int64_t> arrivals);
  Status InsertPostings(const Prepared& prepared, size_t first, std::span<const int64_t> arrivals);

  Connection& connection_;
  Dictionary& dictionary_;
};

}  // namespace assay::samplestore
