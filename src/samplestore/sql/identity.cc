// Which store this is: what a connection has in memory of it says nothing of another one in its place.
#include <fmt/format.h>

#include "base/text.h"
#include "samplestore/sql/sql_store.h"

namespace assay::samplestore {
namespace {

// Made with the first measurement, and no part of the schema's version, as the table of progress is none.
constexpr char kIdentity[] = "store_identity";
constexpr char kMakeIdentity[] = "CREATE TABLE IF NOT EXISTS store_identity(id TEXT NOT NULL)";

}  // namespace

Status SqlStore::MakeIdentity() {
  if (identity_.empty()) {
    ASSAY_RETURN_IF_ERROR(CheckIdentity());
  }
  if (!identity_.empty()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_RETURN_IF_ERROR(connection_->Lock(kIdentity));
  ASSAY_RETURN_IF_ERROR(connection_->Execute(kMakeIdentity));
  {
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr insert,
        connection_->Prepare("INSERT INTO store_identity(id) SELECT CAST(? AS TEXT) WHERE NOT EXISTS "
                             "(SELECT 1 FROM store_identity)"));
    ASSAY_RETURN_IF_ERROR(insert->Bind(RandomUid()).Run());
  }
  return transaction.Commit();
}

Result<std::string> SqlStore::ReadIdentity() {
  ASSAY_ASSIGN_OR_RETURN(const bool exists, connection_->TableExists(kIdentity));
  if (!exists) {
    return std::string();
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select, connection_->Prepare("SELECT id FROM store_identity"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select->Step());
  return std::string(found ? select->Text(0) : "");
}

Status SqlStore::CheckIdentity() {
  Result<std::string> identity = ReadIdentity();
  if (identity.status().code() == ErrorCode::kPermissionDenied) {
    return Status::Ok();  // who may read was said before there was this table
  }
  ASSAY_RETURN_IF_ERROR(identity.status());
  if (!identity_.empty() && *identity != identity_) {
    return Status::FailedPrecondition(fmt::format("store {} was replaced by another one", connection_->name()));
  }
  identity_ = *std::move(identity);
  return Status::Ok();
}

Result<Transaction> SqlStore::BeginWriting() {
  ASSAY_RETURN_IF_ERROR(MakeIdentity());
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_RETURN_IF_ERROR(CheckIdentity());
  return transaction;
}

Result<std::unique_ptr<SampleStore>> KnowingWhichItIs(std::unique_ptr<SqlStore> store) {
  ASSAY_RETURN_IF_ERROR(store->CheckSame());
  return std::unique_ptr<SampleStore>(std::move(store));
}

}  // namespace assay::samplestore
