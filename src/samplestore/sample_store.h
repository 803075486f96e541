// The store of measurements: results, claims on points that are being measured, and operations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/dependencies.h"
#include "samplestore/lease_clock.h"
#include "samplestore/measurement.h"
#include "space/entity.h"

namespace assay::samplestore {

/// What makes two measurements the same point: a point that has a valid or invalid measurement is not measured again.
struct MemoKey {
  std::string parameterized_id;
  std::string entity_id;
  auto operator<=>(const MemoKey&) const = default;
};

MemoKey KeyOf(const Measurement& measurement);

/// Which measurements to list. Empty fields do not restrict.
struct MeasurementFilter {
  std::string uid = {};
  std::string experiment = {};  ///< base id
  std::string parameterized_id = {};
  std::string entity_id = {};
  std::optional<Outcome> outcome = {};
  space::Entity entity = {};        ///< constitutive properties that must have these values
  std::string measured_since = {};  ///< UTC, ISO 8601, inclusive
  int64_t after = 0;                ///< only those with a larger arrival: what is new since a reader looked before
  bool newest_first = false;        ///< else in the order of arrival
  int64_t limit = -1;               ///< -1: all
  int64_t offset = 0;
};

/// A measurement without its document: cheap to list by the hundred thousand.
struct MeasurementRow {
  int64_t arrival = 0;  ///< as Measurement::arrival
  std::string uid;
  std::string experiment;
  std::string parameterized_id;
  std::string entity_id;
  Outcome outcome = Outcome::kFailed;
  std::string measured_at;
  std::vector<space::Value> values;  ///< of the columns asked for, in their order; None where there is none
};

/// What a claim attempt found.
enum class ClaimResult {
  kClaimed,   ///< the caller measures it now
  kMeasured,  ///< somebody has measured it
  kBusy,      ///< somebody else is measuring it
};

/// A claim attempt. Each claim has a number of its own, larger than that of every claim before it: what a measurement
/// must show to be taken (a fencing token).
struct Claim {
  ClaimResult result = ClaimResult::kBusy;
  int64_t fence = 0;  ///< of kClaimed
};

/// What became of a claimed measurement.
enum class AppendResult {
  kAdded,
  kRefused,  ///< the claim had passed to somebody else, or ended: the measurement is in the log of refused ones
};

/// One run of `explore` over points; kept for the record.
struct Operation {
  std::string uid;
  std::string kind;   ///< explore
  std::string space;  ///< name or file of the space
  std::string started_at;
  std::string finished_at;  ///< empty while it runs, or when it was killed
  std::string exit_state;   ///< success | fail | interrupted; empty while it runs
  int64_t measured = 0;     ///< results that it produced; counted by ListOperations
  int64_t replayed = 0;     ///< results that it met
};

/// Safe to use from several threads and, on the same file, from several processes. Measurements are never changed.
/// Errors are one line that names the store.
class SampleStore {
 public:
  virtual ~SampleStore() = default;

  /// The URL it was opened with.
  virtual const std::string& url() const = 0;

  /// Adds `measurement`, whoever has claimed its key. A uid that is there already is an error. Whatever the error, the
  /// measurement goes, as a line of JSON, to RefusedFile().
  virtual Status Append(const Measurement& measurement) = 0;
  /// Adds `measurement` and, in the same transaction, ends the claim `fence` on its key. When that is no longer the
  /// claim on the key, or the store fails, nothing is added: the measurement goes to RefusedFile() too.
  virtual Result<AppendResult> AppendClaimed(const Measurement& measurement, int64_t fence) = 0;
  /// The log of measurements that came too late or could not be stored: beside the store. It exists only once there was
  /// one.
  virtual std::string RefusedFile() const = 0;
  /// Removes the measurements of `filter`, with all that belongs to them. Returns how many.
  virtual Result<int64_t> Remove(const MeasurementFilter& filter) = 0;

  /// The newest measurement of `key` that counts as measured (valid or invalid) and agrees with `here`, with its
  /// series. Invalid ones that do not say what judged them (SaysWhatJudged) are left out.
  virtual Result<std::optional<Measurement>> FindMeasured(const MemoKey& key, const Facts& here = {}) = 0;
  /// Whether `key` is measured where `here` holds: it has `wanted` valid measurements, or its newest one that did not
  /// fail is invalid. Only measurements that agree with `here` count, and of the invalid those that say what judged
  /// them (SaysWhatJudged).
  virtual Result<bool> IsMeasured(const MemoKey& key, int64_t wanted, const Facts& here) = 0;
  /// The newest measurement of `key` with any outcome, with its series.
  virtual Result<std::optional<Measurement>> FindLatest(const MemoKey& key) = 0;

  virtual Result<int64_t> Count(const MeasurementFilter& filter) = 0;
  /// Rows without documents. `columns` names constitutive or target properties whose values are wanted; a name that is
  /// both yields the constitutive value.
  virtual Result<std::vector<MeasurementRow>> ListRows(const MeasurementFilter& filter,
                                                       const std::vector<std::string>& columns) = 0;
  /// Whole measurements; `with_series` also reads the series (large).
  virtual Result<std::vector<Measurement>> List(const MeasurementFilter& filter, bool with_series) = 0;
  /// Calls `visit` with the JSON text of each measurement (without series), unparsed; stops at the first error. `visit`
  /// must not use the store.
  virtual Status ForEachDocument(const MeasurementFilter& filter,
                                 const std::function<Status(std::string_view)>& visit) = 0;

  /// Claims `key` for `owner` until `lease_seconds` from now, on the store's clock, unless it IsMeasured(). A claim
  /// whose lease is over, or whose owner is a process of this machine that no longer runs, counts for nothing. Claiming
  /// again one's own key renews it.
  virtual Result<Claim> TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                                 const Facts& here = {}) = 0;
  /// Renews claim `fence` on `key`. False: it is no longer the claim on the key.
  virtual Result<bool> RenewClaim(const MemoKey& key, int64_t fence, double lease_seconds) = 0;
  /// Ends claim `fence` on `key`; fine when there is none.
  virtual Status ReleaseClaim(const MemoKey& key, int64_t fence) = 0;

  virtual Status StartOperation(const Operation& operation) = 0;
  virtual Status FinishOperation(std::string_view uid, std::string_view exit_state) = 0;
  /// Notes that `operation_uid` produced (`replayed` false) or met (true) measurement `measurement_uid`.
  virtual Status NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) = 0;
  virtual Result<std::vector<Operation>> ListOperations() = 0;
};

enum class StoreAccess {
  kReadWrite,  ///< made when missing; one of an older schema is brought to this one, unless somebody measures into it
  kReadOnly,   ///< must exist, and stays as it is; works in a folder that cannot be written
};

/// Opens `sqlite:///PATH` (three slashes and a relative path, four and an absolute one; "sqlite:////tmp/a.db"). A plain
/// path is taken as one. An empty URL is DefaultStoreUrl(). `postgresql://` is answered with kUnsupported.
Result<std::unique_ptr<SampleStore>> OpenStore(const std::string& url, StoreAccess access = StoreAccess::kReadWrite,
                                               LeaseClock clock = MachineLeaseClock());

/// sqlite:///<the user's data folder>/measurements.db
std::string DefaultStoreUrl();

/// A claim owner's name for this process: host, process id, its start time and a random part.
std::string MakeClaimOwner();

}  // namespace assay::samplestore
