// The SQLite implementation of SampleStore.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "samplestore/sample_store.h"
#include "samplestore/sqlite_database.h"
#include "samplestore/sqlite_filter.h"

namespace assay::samplestore {

/// One connection behind a mutex; other processes use the same file through connections of their own.
class SqliteStore : public SampleStore {
 public:
  static Result<std::unique_ptr<SampleStore>> Open(const std::string& url, const std::string& path, StoreAccess access);

  const std::string& url() const override { return url_; }

  Status Append(const Measurement& measurement) override;
  Result<std::optional<Measurement>> FindMeasured(const MemoKey& key) override;
  Result<std::optional<Measurement>> FindLatest(const MemoKey& key) override;

  Result<int64_t> Count(const MeasurementFilter& filter) override;
  Result<std::vector<MeasurementRow>> ListRows(const MeasurementFilter& filter,
                                               const std::vector<std::string>& columns) override;
  Result<std::vector<Measurement>> List(const MeasurementFilter& filter, bool with_series) override;
  Status ForEachDocument(const MeasurementFilter& filter,
                         const std::function<Status(std::string_view)>& visit) override;

  Result<ClaimResult> TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds,
                               int64_t wanted) override;
  Status RenewClaims(std::string_view owner, double lease_seconds) override;
  Status ReleaseClaim(const MemoKey& key, std::string_view owner) override;

  Status StartOperation(const Operation& operation) override;
  Status FinishOperation(std::string_view uid, std::string_view exit_state) override;
  Status NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) override;
  Result<std::vector<Operation>> ListOperations() override;

 private:
  using ColumnKey = std::pair<std::string, std::string>;  ///< kind and name

  SqliteStore(std::string url, Database database) : url_(std::move(url)), database_(std::move(database)) {}

  // All of these are called with the mutex held.
  Status AppendInTransaction(const Measurement& measurement);
  Result<int64_t> InsertMeasurement(const Measurement& measurement);
  Status InsertDocument(int64_t id, const Measurement& measurement);
  Status InsertCells(int64_t id, const std::string& kind, const std::map<std::string, space::Value>& values);
  Status InsertSeries(int64_t id, const Measurement& measurement);
  Result<int64_t> FindOrMakeColumn(const std::string& kind, const std::string& name);
  /// The constitutive column of that name, else the target column, else 0 (which no cell has).
  Result<int64_t> FindColumn(const std::string& name);
  Status ReadSeries(int64_t id, Measurement& measurement);
  Result<std::optional<Measurement>> FindNewest(const MemoKey& key, std::string_view condition);
  Result<Statement> PrepareQuery(const std::string& select, const SqlFilter& filter);
  /// As TryClaim says.
  Result<bool> IsMeasured(const MemoKey& key, int64_t wanted);
  /// Whether somebody other than `owner` holds a claim on `key` that counts.
  Result<bool> IsBusy(const MemoKey& key, std::string_view owner);

  std::mutex mutex_;
  std::string url_;
  Database database_;
  std::map<ColumnKey, int64_t> columns_;  ///< ids that are known; columns are never removed
};

}  // namespace assay::samplestore
