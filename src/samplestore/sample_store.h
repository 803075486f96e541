// The store of measurements: results, claims on points that are being measured, and operations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  space::Entity entity = {};  ///< constitutive properties that must have these values
  /// Entries of provenance that must have these texts: "host", "commit" and "machine" (its kind) can be asked for.
  std::map<std::string, std::string> found_by = {};
  std::string operation = {};       ///< uid of an operation that produced or met it
  std::string measured_since = {};  ///< UTC, ISO 8601, inclusive
  int64_t after = 0;                ///< only those with a larger arrival: what is new since a reader looked before
  int64_t before = 0;               ///< only those with a smaller one
  /// Only those that no measurement on its way in comes before. A reader who will ask for what is `after` the newest
  /// that it got asks so, and misses none; `after` implies it.
  bool settled = false;
  bool newest_first = false;  ///< else in the order of arrival
  int64_t limit = -1;         ///< -1: all
  int64_t offset = 0;

  bool operator==(const MeasurementFilter&) const = default;
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
  std::string finished_at;   ///< empty while it runs, or when it was killed
  std::string exit_state;    ///< success | fail | interrupted; empty while it runs
  int64_t measured = 0;      ///< results that it produced, as the store counted them
  int64_t replayed = 0;      ///< results that it met
  std::string owner = {};    ///< the process that runs it, as MakeClaimOwner names one
  std::string details = {};  ///< what more is kept of it, as JSON
};

/// A measurement that an operation produced or met.
struct OperationResult {
  int64_t number = 0;  ///< in its operation, from 0
  std::string measurement_uid;
  bool replayed = false;
};

/// What an operation is doing now, for who looks on.
struct Progress {
  std::string operation_uid;
  std::string owner;    ///< the process that runs it, as MakeClaimOwner names one
  int64_t version = 0;  ///< grows with each change
  std::string state;    ///< as its process wrote it
};

/// Safe to use from several threads and, on the same store, from several processes. Measurements are never changed.
/// Errors are one line that names the store. What is done while a server cannot be reached waits for it (StoreOptions).
class SampleStore {
 public:
  virtual ~SampleStore() = default;

  /// The URL it was opened with.
  virtual const std::string& url() const = 0;

  /// An error where what it was opened on is not what stands at its URL now: a file that was replaced or removed, or
  /// one that a newer program has changed. For who keeps a store open for long; costs a few microseconds.
  virtual Status CheckSame() = 0;

  /// Adds `measurement`, whoever has claimed its key. A uid that is there already is an error. Whatever the error, the
  /// measurement goes, as a line of JSON, to RefusedFile().
  virtual Status Append(const Measurement& measurement) = 0;
  /// Adds those whose uid the store does not have, all in one transaction, which is much faster than one for each.
  /// Returns how many.
  virtual Result<int64_t> AppendNew(std::span<const Measurement> measurements) = 0;
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
  /// The same one by one, a page of them in memory at a time; `visit` may keep what it is given, and its first error
  /// ends it. What comes in meanwhile may be among them.
  virtual Status ForEach(const MeasurementFilter& filter, bool with_series,
                         const std::function<Status(Measurement&&)>& visit) = 0;

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
  /// Keeps `details` of it in place of what was kept before, also once it is finished.
  virtual Status SetDetails(std::string_view uid, std::string_view details) = 0;
  virtual Status FinishOperation(std::string_view uid, std::string_view exit_state) = 0;
  /// Notes that `operation_uid` produced (`replayed` false) or met (true) measurement `measurement_uid`.
  virtual Status NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) = 0;
  virtual Result<std::vector<Operation>> ListOperations() = 0;

  /// Says what `operation_uid` is doing now, in place of what was said before. For its process alone.
  virtual Status SetProgress(std::string_view operation_uid, std::string_view owner, std::string_view state) = 0;
  /// Nothing more is said of it; fine where nothing was.
  virtual Status EndProgress(std::string_view operation_uid) = 0;
  /// Of all processes and machines, those left out that this machine knows to have ended.
  virtual Result<std::vector<Progress>> ListProgress() = 0;
  /// Adds one of another store with its results; false: it is there already, and stays as it is.
  virtual Result<bool> AppendOperation(const Operation& operation, std::span<const OperationResult> results) = 0;
  /// The results of an operation whose number is larger than `after` (-1: all), at most `limit`, in their order.
  virtual Result<std::vector<OperationResult>> ListResults(std::string_view operation_uid, int64_t after,
                                                           int64_t limit) = 0;
};

enum class StoreAccess {
  kReadWrite,  ///< made when missing; one of an older schema is brought to this one, unless somebody measures into it
  kReadOnly,   ///< must exist, and stays as it is; works in a folder that cannot be written
};

struct StoreOptions {
  /// Empty: the store's own, which is the machine's for SQLite and the server's for PostgreSQL.
  std::optional<LeaseClock> clock = {};
  /// How long to wait for a server that was reached before and went away.
  double longest_outage_seconds = 900;
  /// How long to wait for another program that has the whole of a store's file for itself.
  double longest_lock_seconds = 20;
  /// Told in one line when a server went away and when it is back; from any thread.
  std::function<void(std::string_view)> on_outage = {};
};

/// Opens `sqlite:///PATH` (three slashes and a relative path, four and an absolute one; "sqlite:////tmp/a.db"; a plain
/// path is taken as one), or `postgresql://USER@HOST:PORT/DATABASE?schema=NAME` as libpq reads it, with the schema
/// `assay` unless given. An empty URL is DefaultStoreUrl().
Result<std::unique_ptr<SampleStore>> OpenStore(const std::string& url, StoreAccess access = StoreAccess::kReadWrite,
                                               const StoreOptions& options = {});

/// sqlite:///<the user's data folder>/measurements.db
std::string DefaultStoreUrl();

/// What tells the store at `url` from others, for messages and reports: neither a password nor how it is reached.
/// "sqlite:///PATH", "postgresql://USER@HOST:PORT/DATABASE", with "?schema=NAME" unless that is the usual one. Of what
/// is no store's URL only the scheme is repeated.
std::string StoreName(const std::string& url);

/// A claim owner's name for this process: host, process id, its start time and a random part.
std::string MakeClaimOwner();

}  // namespace assay::samplestore
