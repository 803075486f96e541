// Which store this is: what a connection has in memory of it says nothing of another one in its place.
#include <fmt/format.h>

#include "base/text.h"
#include "samplestore/sql/sql_store.h"

namespace assay::samplestore {
namespace {

// Made with the store; of one that is older, with the next measurement. No part of the schema's version, as the table
// of progress is none.
constexpr char kIdentity[] = "store_identity";
constexpr char kMakeIdentity[] = "CREATE TABLE IF NOT EXISTS store_identity(id TEXT NOT NULL)";

}  // namespace

Status SqlStore::MakeIdentity() {
  if (!identity_ || identity_->empty()) {
    ASSAY_RETURN_IF_ERROR(CheckIdentity(Finding::kReadAnew));
  }
  if (identity_is_hidden_ || !identity_->empty()) {
    return Status::Ok();
  }
  const Status made = NameStore();
  if (made.code() == ErrorCode::kPermissionDenied) {
    identity_is_hidden_ = true;  // who may write was said before there was this table
    return Status::Ok();
  }
  return made;
}

Status SqlStore::NameStore() {
  const std::string name = RandomUid();
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_RETURN_IF_ERROR(connection_->Lock(kIdentity));
  ASSAY_RETURN_IF_ERROR(connection_->Execute(kMakeIdentity));
  {
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr insert,
        connection_->Prepare("INSERT INTO store_identity(id) SELECT CAST(? AS TEXT) WHERE NOT EXISTS "
                             "(SELECT 1 FROM store_identity)"));
    ASSAY_RETURN_IF_ERROR(insert->Bind(name).Run());
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string there, ReadIdentity());
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  if (there == name) {
    identity_ = name;  // else another one was faster, and is found out next
  }
  return Status::Ok();
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

Status SqlStore::CheckIdentity(Finding finding) {
  if (identity_is_hidden_) {
    return Status::Ok();
  }
  Result<std::string> identity = ReadIdentity();
  if (identity.status().code() == ErrorCode::kPermissionDenied) {
    identity_is_hidden_ = true;
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(identity.status());
  if (identity_ && *identity != *identity_) {
    // A store without a name gets one by whoever writes next; it may also be another one that has a name.
    starts_over_ = identity_->empty() && finding == Finding::kReadAnew;
    identity_ = identity_->empty() ? *identity : *identity_;
    return Status::FailedPrecondition(fmt::format("store {} was replaced by another one", connection_->name()));
  }
  identity_ = *std::move(identity);
  return Status::Ok();
}

Result<Transaction> SqlStore::BeginWriting() {
  ASSAY_RETURN_IF_ERROR(MakeIdentity());
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_RETURN_IF_ERROR(CheckIdentity(Finding::kReadAnew));
  return transaction;
}

Result<std::unique_ptr<SampleStore>> KnowingWhichItIs(std::unique_ptr<SqlStore> store) {
  ASSAY_RETURN_IF_ERROR(store->CheckSame());
  return std::unique_ptr<SampleStore>(std::move(store));
}

}  // namespace assay::samplestore
