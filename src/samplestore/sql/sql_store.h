// The SampleStore in SQL, whatever the database.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "samplestore/sample_store.h"
#include "samplestore/sql/connection.h"
#include "samplestore/sql/dictionary.h"
#include "samplestore/sql/reader.h"
#include "samplestore/sql/writer.h"

namespace assay::samplestore {

/// The name of the lock that whoever claims `key`, or ends its claim with a measurement, holds meanwhile.
std::string LockOf(const MemoKey& key);

/// One connection behind a mutex; other processes use the same store through connections of their own. What fails
/// because the connection was lost is done again, once it stands: everything here may be done twice and is done once.
class SqlStore : public SampleStore {
 public:
  /// `connection` has the tables of this schema. Refused measurements go to the file `refused`.
  SqlStore(std::string url, std::string refused, std::unique_ptr<Connection> connection);

  const std::string& url() const override { return url_; }
  Status CheckSame() override;

  Status Append(const Measurement& measurement) override;
  Result<int64_t> AppendNew(std::span<const Measurement> measurements) override;
  Result<AppendResult> AppendClaimed(const Measurement& measurement, int64_t fence) override;
  std::string RefusedFile() const override { return refused_; }
  Result<int64_t> Remove(const MeasurementFilter& filter) override;
  Result<std::optional<Measurement>> FindMeasured(const MemoKey& key, const Facts& here) override;
  Result<bool> IsMeasured(const MemoKey& key, int64_t wanted, const Facts& here) override;
  Result<std::optional<Measurement>> FindLatest(const MemoKey& key) override;

  Result<int64_t> Count(const MeasurementFilter& filter) override;
  Result<std::vector<MeasurementRow>> ListRows(const MeasurementFilter& filter,
                                               const std::vector<std::string>& columns) override;
  Result<std::vector<Measurement>> List(const MeasurementFilter& filter, bool with_series) override;
  Status ForEach(const MeasurementFilter& filter, bool with_series,
                 const std::function<Status(Measurement&&)>& visit) override;

  Result<Claim> TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                         const Facts& here) override;
  Result<bool> RenewClaim(const MemoKey& key, int64_t fence, double lease_seconds) override;
  Status ReleaseClaim(const MemoKey& key, int64_t fence) override;

  Status StartOperation(const Operation& operation) override;
  Status SetDetails(std::string_view uid, std::string_view details) override;
  Status FinishOperation(std::string_view uid, std::string_view exit_state) override;
  Status NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) override;
  Result<std::vector<Operation>> ListOperations() override;
  Status SetProgress(std::string_view operation_uid, std::string_view owner, std::string_view state) override;
  Status EndProgress(std::string_view operation_uid) override;
  Result<std::vector<Progress>> ListProgress() override;
  Result<bool> AppendOperation(const Operation& operation, std::span<const OperationResult> results) override;
  Result<std::vector<OperationResult>> ListResults(std::string_view operation_uid, int64_t after,
                                                   int64_t limit) override;

 private:
  /// How often something is done: what was done before may have been written, or not.
  enum class Attempt { kFirst, kAgain };

  /// `body(attempt)`, with the mutex held, and again where the connection says so.
  template <typename Body>
  auto Try(const Body& body) -> decltype(body(Attempt::kFirst)) {
    const std::lock_guard lock(mutex_);
    auto attempt = Attempt::kFirst;
    while (true) {
      auto result = body(attempt);
      if (StatusOf(result).ok()) {
        connection_->Done();
        return result;
      }
      dictionary_.Forget();
      if (std::exchange(starts_over_, false)) {
        continue;
      }
      Result<bool> again = connection_->MayTryAgain();
      if (!again.ok()) {
        return again.status();
      }
      if (!*again) {
        return result;
      }
      attempt = Attempt::kAgain;
    }
  }
  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static const Status& StatusOf(const Result<T>& result) {
    return result.status();
  }

  // All of these are called with the mutex held.
  Status AddTerms(const Prepared& prepared);
  /// `fence` 0: without a claim.
  Result<AppendResult> AddInTransaction(const Measurement& measurement, int64_t fence, Attempt attempt);
  Result<bool> HasUid(std::string_view uid);
  Result<std::vector<Measurement>> WithoutKnown(std::span<const Measurement> measurements);
  Status RemoveOne(int64_t arrival);
  /// Ends the claim. False: the key has no claim of that number.
  Result<bool> EndClaim(const MemoKey& key, int64_t fence);
  Result<Claim> ClaimInTransaction(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                                   const Facts& here);
  /// The claim that `owner` may hold on `key`: its present one, else a new one; kBusy when somebody else's counts.
  Result<Claim> NextClaim(const MemoKey& key, std::string_view owner, double lease_seconds, const StoreTime& now);
  /// False: there is one of its uid.
  Result<bool> InsertOperation(const Operation& operation);
  Result<int64_t> NextResult(std::string_view operation_uid);
  Status NoteNumbered(std::string_view operation_uid, int64_t number, std::string_view measurement_uid, bool replayed);

  /// What becomes of the finding that the store has a name, and had none before: who reads is told of another store,
  /// who writes begins anew, with nothing that was known.
  enum class Finding { kTold, kReadAnew };
  Status MakeIdentity();
  Status NameStore();
  Result<std::string> ReadIdentity();
  /// An error where another store stands in the place of the one that was opened.
  Status CheckIdentity(Finding finding);
  /// For what is written with what is known of the store already, such as ids of its terms.
  Result<Transaction> BeginWriting();

  Status MakeProgressTable();
  Result<bool> HasProgressTable();
  Status RemoveProgressOfTheGone();
  Status RemoveProgress(std::string_view operation_uid);
  Result<std::vector<Progress>> ReadProgress();

  Status LogRefused(const Measurement& measurement);

  std::mutex mutex_;
  std::string url_;
  std::string refused_;
  std::unique_ptr<Connection> connection_;
  Dictionary dictionary_;
  Writer writer_;
  Reader reader_;
  std::map<std::string, int64_t, std::less<>> next_result_;  ///< by operation: the number of its next result
  std::optional<std::string> identity_;                      ///< empty: the store had none; nothing: not known
  bool identity_is_hidden_ = false;                          ///< may not be made, or not be read
  bool starts_over_ = false;                                 ///< what failed is done again, with nothing known
  bool has_progress_ = false;                                ///< the table is known to be there
};

/// `store` as it is opened: from here on CheckSame() tells it from others.
Result<std::unique_ptr<SampleStore>> KnowingWhichItIs(std::unique_ptr<SqlStore> store);

}  // namespace assay::samplestore
