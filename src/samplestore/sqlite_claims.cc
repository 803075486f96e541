// Claims of an SQLite store on points that are being measured, and their fences.
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

}  // namespace assay::samplestore
