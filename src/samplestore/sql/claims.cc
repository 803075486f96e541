// Claims on points that are being measured, and their fences.
#include <algorithm>

#include "samplestore/claim_owner.h"
#include "samplestore/sql/sql_store.h"

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

Result<bool> SqlStore::EndClaim(const MemoKey& key, int64_t fence) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr remove,
                         connection_->Prepare("DELETE FROM fenced_claims WHERE parameterized_id = ? AND entity_id = ? "
                                              "AND fence = ? RETURNING 1"));
  return Changes(remove->Bind(key.parameterized_id).Bind(key.entity_id).Bind(fence));
}

Result<Claim> SqlStore::NextClaim(const MemoKey& key, std::string_view owner, double lease_seconds,
                                  const StoreTime& now) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection_->Prepare("SELECT owner, epoch, expires_at, fence FROM fenced_claims WHERE "
                                              "parameterized_id = ? AND entity_id = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select->Bind(key.parameterized_id).Bind(key.entity_id).Step());
  if (found && select->Text(0) == owner) {
    return Claim{ClaimResult::kClaimed, select->Integer(3)};
  }
  // Who could not reach the store could not renew its lease either, and has as long to do so once it can.
  if (found && ClaimCounts(select->Text(0), select->Text(1),
                           std::max(select->Number(2), now.reachable_since + lease_seconds), now)) {
    return Claim{ClaimResult::kBusy, 0};
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr next,
                         connection_->Prepare("UPDATE fences SET last = last + 1 RETURNING last"));
  ASSAY_RETURN_IF_ERROR(next->Step().status());
  return Claim{ClaimResult::kClaimed, next->Integer(0)};
}

Result<Claim> SqlStore::ClaimInTransaction(const MemoKey& key, std::string_view owner, double lease_seconds,
                                           int64_t wanted, const Facts& here) {
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  // From here on nobody else claims it. Whoever held the claim until now has added what was measured.
  ASSAY_RETURN_IF_ERROR(connection_->Lock(LockOf(key)));
  ASSAY_ASSIGN_OR_RETURN(const StoreTime now, connection_->Now());
  ASSAY_ASSIGN_OR_RETURN(const Known known, reader_.FindKnown(key, here));
  if (known.IsMeasured(wanted)) {
    return Claim{ClaimResult::kMeasured, 0};
  }
  ASSAY_ASSIGN_OR_RETURN(const Claim claim, NextClaim(key, owner, lease_seconds, now));
  if (claim.result == ClaimResult::kBusy) {
    return claim;
  }
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr insert,
      connection_->Prepare("INSERT INTO fenced_claims(parameterized_id, entity_id, owner, fence, epoch, expires_at) "
                           "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (parameterized_id, entity_id) DO UPDATE SET owner = "
                           "excluded.owner, fence = excluded.fence, epoch = excluded.epoch, expires_at = "
                           "excluded.expires_at"));
  insert->Bind(key.parameterized_id).Bind(key.entity_id).Bind(owner).Bind(claim.fence);
  ASSAY_RETURN_IF_ERROR(insert->Bind(now.epoch).Bind(now.seconds + lease_seconds).Run());
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return claim;
}

Result<Claim> SqlStore::TryClaim(const MemoKey& key, std::string_view owner, double lease_seconds, int64_t wanted,
                                 const Facts& here) {
  return Try([&](Attempt) { return ClaimInTransaction(key, owner, lease_seconds, wanted, here); });
}

Result<bool> SqlStore::RenewClaim(const MemoKey& key, int64_t fence, double lease_seconds) {
  return Try([&](Attempt) -> Result<bool> {
    ASSAY_ASSIGN_OR_RETURN(const StoreTime now, connection_->Now());
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr update,
        connection_->Prepare("UPDATE fenced_claims SET epoch = ?, expires_at = ? WHERE parameterized_id = ? "
                             "AND entity_id = ? AND fence = ? RETURNING 1"));
    update->Bind(now.epoch).Bind(now.seconds + lease_seconds);
    return Changes(update->Bind(key.parameterized_id).Bind(key.entity_id).Bind(fence));
  });
}

Status SqlStore::ReleaseClaim(const MemoKey& key, int64_t fence) {
  return Try([&](Attempt) { return EndClaim(key, fence).status(); });
}

}  // namespace assay::samplestore
