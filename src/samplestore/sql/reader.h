// Reads measurements from a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "samplestore/dependencies.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/connection.h"
#include "samplestore/sql/dictionary.h"

namespace assay::samplestore {

/// What the measurements of a key that hold under some facts say together; failed ones do not count.
struct Known {
  int64_t newest = 0;  ///< its arrival; 0: there is none
  bool newest_is_invalid = false;
  int64_t valid = 0;

  bool IsMeasured(int64_t wanted) const { return newest != 0 && (newest_is_invalid || valid >= wanted); }
};

class Reader {
 public:
  Reader(Connection& connection, Dictionary& dictionary) : connection_(connection), dictionary_(dictionary) {}

  Result<int64_t> Count(const MeasurementFilter& filter);
  Result<std::vector<int64_t>> Arrivals(const MeasurementFilter& filter);
  Result<std::vector<MeasurementRow>> Rows(const MeasurementFilter& filter, const std::vector<std::string>& columns);
  /// `page_end` beyond 0: from there on, the arrival with which the page before it ended.
  Result<std::vector<Measurement>> Measurements(const MeasurementFilter& filter, bool with_series,
                                                int64_t page_end = 0);
  /// With its series.
  Result<std::optional<Measurement>> Read(int64_t arrival);

  Result<Known> FindKnown(const MemoKey& key, const Facts& here);
  /// The arrival of the newest of `key`, whatever its outcome; 0: there is none.
  Result<int64_t> Newest(const MemoKey& key);

 private:
  /// A statement whose rows are `select`, bound to the measurements of `filter`.
  Result<StatementPtr> Select(const std::string& select, const std::string& from, const MeasurementFilter& filter,
                              int64_t page_end = 0);
  /// The terms with ids in `text`; valid until the dictionary's next Load.
  Result<std::vector<KnownTerm*>> TermsOf(std::string_view text);
  Result<Facts> DependenciesOf(std::string_view terms);
  Status AddValues(std::string_view terms, std::string_view values, const std::vector<std::string>& columns,
                   MeasurementRow& row);

  Connection& connection_;
  Dictionary& dictionary_;
};

}  // namespace assay::samplestore
