// Claims and operations of an SQLite store.
#include <fmt/format.h>

#include "base/text.h"
#include "samplestore/claim_owner.h"
#include "samplestore/sqlite_store.h"

namespace assay::samplestore {
namespace {

/// Whether `change` changed a row, which it returns. It is taken to its end: only there is a change that stands by
/// itself written, or refused.
Result<bool> Changes(Statement& change) {
  ASSAY_ASSIGN_OR_RETURN(const bool changed, change.Step());
  if (changed) {
    ASSAY_RETURN_IF_ERROR(change.Run());
  }
  return changed;
}

}  // namespace

Result<bool> SqliteStore::EndClaim(const MemoKey& key, int64_t fence) {
  ASSAY_ASSIGN_OR_RETURN(Statement remove,
                         database_.Prepare("DELETE FROM fenced_claims WHERE parameterized_id = ? AND entity_id = ? "
                                           "AND fence = ? RETURNING 1"));
  return Changes(remove.Bind(key.parameterized_id).Bind(key.entity_id).Bind(fence));
}

Result<Claim> SqliteStore::NextClaim(const MemoKey& key, std::string_view owner) {
  ASSAY_ASSIGN_OR_RETURN(Statement select,
                         database_.Prepare("SELECT owner, epoch, expires_at, fence FROM fenced_claims WHERE "
                                           "parameterized_id = ? AND entity_id = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select.Bind(key.parameterized_id).Bind(key.entity_id).Step());
  if (found && select.TextView(0) == owner) {
    return Claim{ClaimResult::kClaimed, select.Integer(3)};
  }
  if (found && ClaimCounts(select.TextView(0), select.TextView(1), select.Number(2), clock_)) {
    return Claim{ClaimResult::kBusy, 0};
  }
  ASSAY_ASSIGN_OR_RETURN(Statement next, database_.Prepare("UPDATE fences SET last = last + 1 RETURNING last"));
  ASSAY_RETURN_IF_ERROR(next.Run());
  return Claim{ClaimResult::kClaimed, next.Integer(0)};
}

Result<Claim> SqliteStore::TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                                    const Facts& here) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  ASSAY_ASSIGN_OR_RETURN(const Known known, FindKnown(key, here));
  if (known.newest_id != 0 && (known.newest_is_invalid || known.valid >= wanted)) {
    return Claim{ClaimResult::kMeasured, 0};
  }
  ASSAY_ASSIGN_OR_RETURN(const Claim claim, NextClaim(key, owner));
  if (claim.result == ClaimResult::kBusy) {
    return claim;
  }
  ASSAY_ASSIGN_OR_RETURN(
      Statement insert,
      database_.Prepare("INSERT OR REPLACE INTO fenced_claims(parameterized_id, entity_id, owner, fence, "
                        "epoch, expires_at) VALUES (?, ?, ?, ?, ?, ?)"));
  insert.Bind(key.parameterized_id).Bind(key.entity_id).Bind(owner).Bind(claim.fence);
  ASSAY_RETURN_IF_ERROR(insert.Bind(clock_.epoch).Bind(clock_.seconds() + lease_seconds).Run());
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return claim;
}

Result<bool> SqliteStore::RenewClaim(const MemoKey& key, int64_t fence, double lease_seconds) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(
      Statement update,
      database_.Prepare("UPDATE fenced_claims SET epoch = ?, expires_at = ? WHERE parameterized_id = ? "
                        "AND entity_id = ? AND fence = ? RETURNING 1"));
  update.Bind(clock_.epoch).Bind(clock_.seconds() + lease_seconds);
  return Changes(update.Bind(key.parameterized_id).Bind(key.entity_id).Bind(fence));
}

Status SqliteStore::ReleaseClaim(const MemoKey& key, int64_t fence) {
  const std::lock_guard lock(mutex_);
  return EndClaim(key, fence).status();
}

Status SqliteStore::StartOperation(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement insert,
                         database_.Prepare("INSERT INTO operations(uid, kind, space, started_at, finished_at, "
                                           "exit_state) VALUES (?, ?, ?, ?, ?, ?)"));
  insert.Bind(operation.uid).Bind(operation.kind).Bind(operation.space).Bind(operation.started_at);
  return insert.Bind(operation.finished_at).Bind(operation.exit_state).Run();
}

Status SqliteStore::FinishOperation(std::string_view uid, std::string_view exit_state) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement update,
                         database_.Prepare("UPDATE operations SET finished_at = ?, exit_state = ? WHERE uid = ?"));
  return update.Bind(UtcTimestamp()).Bind(exit_state).Bind(uid).Run();
}

Status SqliteStore::NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(
      Statement insert,
      database_.Prepare("INSERT INTO operation_results(operation_uid, request_index, measurement_uid, replayed) "
                        "SELECT ?1, coalesce(max(request_index) + 1, 0), ?2, ?3 FROM operation_results "
                        "WHERE operation_uid = ?1"));
  return insert.Bind(operation_uid).Bind(measurement_uid).Bind(int64_t{replayed}).Run();
}

Result<std::vector<Operation>> SqliteStore::ListOperations() {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement rows,
                         database_.Prepare("SELECT uid, kind, space, started_at, finished_at, exit_state, "
                                           "count(r.measurement_uid), coalesce(sum(r.replayed), 0) FROM operations "
                                           "LEFT JOIN operation_results AS r ON r.operation_uid = uid "
                                           "GROUP BY id ORDER BY id"));
  std::vector<Operation> list;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      return list;
    }
    const int64_t replayed = rows.Integer(7);
    list.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Text(4), rows.Text(5),
                    rows.Integer(6) - replayed, replayed});
  }
}

}  // namespace assay::samplestore
