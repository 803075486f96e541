// What operations are doing now: a row each, which its process writes again and again.
#include "samplestore/claim_owner.h"
#include "samplestore/sql/sql_store.h"

namespace assay::samplestore {
namespace {

// Made when it is first needed, and no part of the schema's version: programs that know nothing of it read and write
// the store as before.
constexpr char kTable[] = "progress";
constexpr char kMakeTable[] =
    "CREATE TABLE IF NOT EXISTS progress(operation_uid TEXT PRIMARY KEY, owner TEXT NOT NULL, version BIGINT NOT NULL, "
    "state TEXT NOT NULL)";

}  // namespace

Status SqlStore::MakeProgressTable() {
  if (has_progress_) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_RETURN_IF_ERROR(connection_->Lock(kTable));
  ASSAY_RETURN_IF_ERROR(connection_->Execute(kMakeTable));
  ASSAY_RETURN_IF_ERROR(RemoveProgressOfTheGone());
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  has_progress_ = true;
  return Status::Ok();
}

Result<bool> SqlStore::HasProgressTable() {
  if (!has_progress_) {
    ASSAY_ASSIGN_OR_RETURN(has_progress_, connection_->TableExists(kTable));
  }
  return has_progress_;
}

/// Of processes that were killed: nobody else takes their rows away.
Status SqlStore::RemoveProgressOfTheGone() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Progress> rows, ReadProgress());
  for (const Progress& row : rows) {
    if (OwnerIsGone(row.owner)) {
      ASSAY_RETURN_IF_ERROR(RemoveProgress(row.operation_uid));
    }
  }
  return Status::Ok();
}

Status SqlStore::RemoveProgress(std::string_view operation_uid) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr remove,
                         connection_->Prepare("DELETE FROM progress WHERE operation_uid = ?"));
  return remove->Bind(operation_uid).Run();
}

Result<std::vector<Progress>> SqlStore::ReadProgress() {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr rows,
      connection_->Prepare("SELECT operation_uid, owner, version, state FROM progress ORDER BY operation_uid"));
  std::vector<Progress> list;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
    if (more) {
      list.push_back(
          {std::string(rows->Text(0)), std::string(rows->Text(1)), rows->Integer(2), std::string(rows->Text(3))});
    }
  }
  return list;
}

Status SqlStore::SetProgress(std::string_view operation_uid, std::string_view owner, std::string_view state) {
  return Try([&](Attempt) -> Status {
    ASSAY_RETURN_IF_ERROR(MakeProgressTable());
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr upsert,
        connection_->Prepare("INSERT INTO progress(operation_uid, owner, version, state) VALUES (?, ?, 1, ?) ON "
                             "CONFLICT (operation_uid) DO UPDATE SET version = progress.version + 1, state = "
                             "excluded.state"));
    return upsert->Bind(operation_uid).Bind(owner).Bind(state).Run();
  });
}

Status SqlStore::EndProgress(std::string_view operation_uid) {
  return Try([&](Attempt) -> Status {
    ASSAY_ASSIGN_OR_RETURN(const bool exists, HasProgressTable());
    return exists ? RemoveProgress(operation_uid) : Status::Ok();
  });
}

Result<std::vector<Progress>> SqlStore::ListProgress() {
  return Try([&](Attempt) -> Result<std::vector<Progress>> {
    ASSAY_ASSIGN_OR_RETURN(const bool exists, HasProgressTable());
    ASSAY_ASSIGN_OR_RETURN(std::vector<Progress> rows, exists ? ReadProgress() : std::vector<Progress>());
    std::erase_if(rows, [](const Progress& row) { return OwnerIsGone(row.owner); });
    return rows;
  });
}

}  // namespace assay::samplestore
