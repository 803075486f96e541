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
  static Result<std::unique_ptr<SampleStore>> Open(const std::string& url, const std::string& path, StoreAccess access,
                                                   LeaseClock clock);

  const std::string& url() const override { return url_; }

  Status Append(const Measurement& measurement) override;
  Result<AppendResult> AppendClaimed(const Measurement& measurement, int64_t fence) override;
  std::string RefusedFile() const override { return database_.path() + ".refused.jsonl"; }
  Result<int64_t> Remove(const MeasurementFilter& filter) override;
  Result<std::optional<Measurement>> FindMeasured(const MemoKey& key, const Facts& here) override;
  Result<bool> IsMeasured(const MemoKey& key, int64_t wanted, const Facts& here) override;
  Result<std::optional<Measurement>> FindLatest(const MemoKey& key) override;

  Result<int64_t> Count(const MeasurementFilter& filter) override;
  Result<std::vector<MeasurementRow>> ListRows(const MeasurementFilter& filter,
                                               const std::vector<std::string>& columns) override;
  Result<std::vector<Measurement>> List(const MeasurementFilter& filter, bool with_series) override;
  Status ForEachDocument(const MeasurementFilter& filter,
                         const std::function<Status(std::string_view)>& visit) override;

  Result<Claim> TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                         const Facts& here) override;
  Result<bool> RenewClaim(const MemoKey& key, int64_t fence, double lease_seconds) override;
  Status ReleaseClaim(const MemoKey& key, int64_t fence) override;

  Status StartOperation(const Operation& operation) override;
  Status FinishOperation(std::string_view uid, std::string_view exit_state) override;
  Status NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) override;
  Result<std::vector<Operation>> ListOperations() override;

 private:
  using ColumnKey = std::pair<std::string, std::string>;  ///< kind and name

  /// What the measurements of a key that hold under some facts say together; failed ones do not count.
  struct Known {
    int64_t newest_id = 0;  ///< 0: there is none
    bool newest_is_invalid = false;
    int64_t valid = 0;
  };

  SqliteStore(std::string url, Database database, LeaseClock clock)
      : url_(std::move(url)), database_(std::move(database)), clock_(std::move(clock)) {}

  // All of these are called with the mutex held.
  /// `fence` 0: without a claim.
  Result<AppendResult> AddInTransaction(const Measurement& measurement, int64_t fence);
  /// Ends the claim. False: the key has no claim of that number.
  Result<bool> EndClaim(const MemoKey& key, int64_t fence);
  Status LogRefused(const Measurement& measurement);
  Result<int64_t> InsertMeasurement(const Measurement& measurement);
  Status InsertDocument(int64_t id, const Measurement& measurement);
  Status InsertCells(int64_t id, const std::string& kind, const std::map<std::string, space::Value>& values);
  Status InsertSeries(int64_t id, const Measurement& measurement);
  Status InsertDependencies(int64_t id, const Measurement& measurement);
  Result<int64_t> FindOrMakeColumn(const std::string& kind, const std::string& name);
  /// The constitutive column of that name, else the target column, else 0 (which no cell has).
  Result<int64_t> FindColumn(const std::string& name);
  Status ReadSeries(int64_t id, Measurement& measurement);
  /// The measurement of that id, with its series.
  Result<std::optional<Measurement>> Read(int64_t id);
  Result<Statement> PrepareQuery(const std::string& select, const SqlFilter& filter);
  Result<Known> FindKnown(const MemoKey& key, const Facts& here);
  /// The same of a store of schema 1 that is only read: it has no table of dependencies.
  Result<Known> FindKnownInDocuments(const MemoKey& key, const Facts& here);
  /// The claim that `owner` may hold on `key`: its present one, else a new one; kBusy when somebody else's counts.
  Result<Claim> NextClaim(const MemoKey& key, std::string_view owner);

  std::mutex mutex_;
  std::string url_;
  Database database_;
  LeaseClock clock_;
  std::map<ColumnKey, int64_t> columns_;  ///< ids that are known; columns are never removed
};

}  // namespace assay::samplestore
