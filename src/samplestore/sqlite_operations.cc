// Claims and operations of an SQLite store.
#include <fmt/format.h>

#include <chrono>

#include "base/text.h"
#include "samplestore/claim_owner.h"
#include "samplestore/sqlite_store.h"

namespace assay::samplestore {
namespace {

// Leases are compared between processes, so they are told in wall-clock time.
double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<bool> SqliteStore::IsMeasured(const MemoKey& key, int64_t wanted) {
  ASSAY_ASSIGN_OR_RETURN(
      Statement select,
      database_.Prepare("SELECT outcome = 'invalid', (SELECT count(*) FROM measurements WHERE parameterized_id = ?1 "
                        "AND entity_id = ?2 AND outcome = 'valid') FROM measurements WHERE parameterized_id = ?1 "
                        "AND entity_id = ?2 AND outcome <> 'failed' ORDER BY id DESC LIMIT 1"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select.Bind(key.parameterized_id).Bind(key.entity_id).Step());
  return found && (select.Integer(0) != 0 || select.Integer(1) >= wanted);
}

Result<bool> SqliteStore::IsBusy(const MemoKey& key, std::string_view owner) {
  ASSAY_ASSIGN_OR_RETURN(
      Statement select,
      database_.Prepare("SELECT owner, expires_at FROM claims WHERE parameterized_id = ? AND entity_id = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select.Bind(key.parameterized_id).Bind(key.entity_id).Step());
  if (!found || select.TextView(0) == owner || select.Number(1) < UnixSeconds()) {
    return false;
  }
  return !OwnerIsGone(select.TextView(0));
}

Result<ClaimResult> SqliteStore::TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds,
                                          int64_t wanted) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  ASSAY_ASSIGN_OR_RETURN(const bool measured, IsMeasured(key, wanted));
  if (measured) {
    return ClaimResult::kMeasured;
  }
  ASSAY_ASSIGN_OR_RETURN(const bool busy, IsBusy(key, owner));
  if (busy) {
    return ClaimResult::kBusy;
  }
  ASSAY_ASSIGN_OR_RETURN(Statement claim,
                         database_.Prepare("INSERT OR REPLACE INTO claims(parameterized_id, entity_id, owner, "
                                           "expires_at) VALUES (?, ?, ?, ?)"));
  claim.Bind(key.parameterized_id).Bind(key.entity_id).Bind(owner).Bind(UnixSeconds() + lease_seconds);
  ASSAY_RETURN_IF_ERROR(claim.Run());
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return ClaimResult::kClaimed;
}

Status SqliteStore::RenewClaims(std::string_view owner, double lease_seconds) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement update, database_.Prepare("UPDATE claims SET expires_at = ? WHERE owner = ?"));
  return update.Bind(UnixSeconds() + lease_seconds).Bind(owner).Run();
}

Status SqliteStore::ReleaseClaim(const MemoKey& key, std::string_view owner) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(
      Statement remove,
      database_.Prepare("DELETE FROM claims WHERE parameterized_id = ? AND entity_id = ? AND owner = ?"));
  return remove.Bind(key.parameterized_id).Bind(key.entity_id).Bind(owner).Run();
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
                        "SELECT ?1, count(*), ?2, ?3 FROM operation_results WHERE operation_uid = ?1"));
  return insert.Bind(operation_uid).Bind(measurement_uid).Bind(int64_t{replayed}).Run();
}

Result<std::vector<Operation>> SqliteStore::ListOperations() {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement rows,
                         database_.Prepare("SELECT uid, kind, space, started_at, finished_at, exit_state "
                                           "FROM operations ORDER BY id"));
  std::vector<Operation> list;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      return list;
    }
    list.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Text(4), rows.Text(5)});
  }
}

}  // namespace assay::samplestore
