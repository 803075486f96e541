// Operations of a store, and what they measured or met.
#include "base/text.h"
#include "samplestore/sql/sql_store.h"

namespace assay::samplestore {

Result<bool> SqlStore::InsertOperation(const Operation& operation) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr insert,
      connection_->Prepare("INSERT INTO operations(uid, kind, space, owner, details, started_at, finished_at, "
                           "exit_state, measured, replayed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) "
                           "DO NOTHING RETURNING 1"));
  insert->Bind(operation.uid).Bind(operation.kind).Bind(operation.space).Bind(operation.owner);
  insert->Bind(operation.details).Bind(operation.started_at).Bind(operation.finished_at);
  insert->Bind(operation.exit_state).Bind(operation.measured).Bind(operation.replayed);
  ASSAY_ASSIGN_OR_RETURN(const bool added, insert->Step());
  ASSAY_RETURN_IF_ERROR(added ? insert->Run() : Status::Ok());
  return added;
}

Status SqlStore::StartOperation(const Operation& operation) {
  return Try([&](Attempt) { return InsertOperation(operation).status(); });
}

Result<bool> SqlStore::AppendOperation(const Operation& operation, std::span<const OperationResult> results) {
  return Try([&](Attempt attempt) -> Result<bool> {
    ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
    ASSAY_ASSIGN_OR_RETURN(const bool added, InsertOperation(operation));
    if (!added) {
      return attempt == Attempt::kAgain;  // the first attempt was written, and its answer lost
    }
    for (size_t begin = 0; begin < results.size();) {
      const size_t count = RowsAtOnce(results.size() - begin);
      ASSAY_ASSIGN_OR_RETURN(
          const StatementPtr insert,
          connection_->Prepare("INSERT INTO operation_results(operation_uid, request_index, measurement_uid, replayed) "
                               "VALUES " +
                               RowsOfParameters(count, 4)));
      for (const OperationResult& result : results.subspan(begin, count)) {
        insert->Bind(operation.uid).Bind(result.number).Bind(result.measurement_uid).Bind(int64_t{result.replayed});
      }
      ASSAY_RETURN_IF_ERROR(insert->Run());
      begin += count;
    }
    ASSAY_RETURN_IF_ERROR(transaction.Commit());
    return true;
  });
}

Status SqlStore::SetDetails(std::string_view uid, std::string_view details) {
  return Try([&](Attempt) -> Status {
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr update,
                           connection_->Prepare("UPDATE operations SET details = ? WHERE uid = ?"));
    return update->Bind(details).Bind(uid).Run();
  });
}

Status SqlStore::FinishOperation(std::string_view uid, std::string_view exit_state) {
  return Try([&](Attempt) -> Status {
    next_result_.erase(std::string(uid));
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr update,
                           connection_->Prepare("UPDATE operations SET finished_at = ?, exit_state = ? WHERE uid = ?"));
    return update->Bind(UtcTimestamp()).Bind(exit_state).Bind(uid).Run();
  });
}

Status SqlStore::NoteResult(std::string_view operation_uid, std::string_view measurement_uid, bool replayed) {
  int64_t number = -1;
  return Try([&](Attempt) -> Status {
    if (number < 0) {
      ASSAY_ASSIGN_OR_RETURN(number, NextResult(operation_uid));
    }
    return NoteNumbered(operation_uid, number, measurement_uid, replayed);
  });
}

Result<int64_t> SqlStore::NextResult(std::string_view operation_uid) {
  const auto known = next_result_.find(operation_uid);
  if (known != next_result_.end()) {
    return known->second++;
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection_->Prepare("SELECT coalesce(max(request_index) + 1, 0) FROM operation_results "
                                              "WHERE operation_uid = ?"));
  ASSAY_RETURN_IF_ERROR(select->Bind(operation_uid).Step().status());
  const int64_t number = select->Integer(0);
  next_result_.emplace(operation_uid, number + 1);
  return number;
}

Status SqlStore::NoteNumbered(std::string_view operation_uid, int64_t number, std::string_view measurement_uid,
                              bool replayed) {
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*connection_));
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr insert,
      connection_->Prepare("INSERT INTO operation_results(operation_uid, request_index, measurement_uid, replayed) "
                           "VALUES (?, ?, ?, ?) ON CONFLICT (operation_uid, request_index) DO NOTHING RETURNING 1"));
  insert->Bind(operation_uid).Bind(number).Bind(measurement_uid).Bind(int64_t{replayed});
  ASSAY_ASSIGN_OR_RETURN(const bool added, insert->Step());
  if (!added) {
    return Status::Ok();  // noted by an attempt whose answer was lost
  }
  ASSAY_RETURN_IF_ERROR(insert->Run());
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr update,
      connection_->Prepare("UPDATE operations SET measured = measured + ?, replayed = replayed + ? WHERE uid = ?"));
  ASSAY_RETURN_IF_ERROR(update->Bind(int64_t{!replayed}).Bind(int64_t{replayed}).Bind(operation_uid).Run());
  return transaction.Commit();
}

Result<std::vector<Operation>> SqlStore::ListOperations() {
  return Try([&](Attempt) -> Result<std::vector<Operation>> {
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr rows,
                           connection_->Prepare("SELECT uid, kind, space, started_at, finished_at, exit_state, "
                                                "measured, replayed, owner, details FROM operations ORDER BY id"));
    std::vector<Operation> list;
    for (bool more = true; more;) {
      ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
      if (more) {
        const auto text = [&](int column) { return std::string(rows->Text(column)); };
        list.push_back({text(0), text(1), text(2), text(3), text(4), text(5), rows->Integer(6), rows->Integer(7),
                        text(8), text(9)});
      }
    }
    return list;
  });
}

Result<std::vector<OperationResult>> SqlStore::ListResults(std::string_view operation_uid, int64_t after,
                                                           int64_t limit) {
  return Try([&](Attempt) -> Result<std::vector<OperationResult>> {
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr rows,
        connection_->Prepare("SELECT request_index, measurement_uid, replayed FROM operation_results WHERE "
                             "operation_uid = ? AND request_index > ? ORDER BY request_index LIMIT ?"));
    rows->Bind(operation_uid).Bind(after).Bind(limit);
    std::vector<OperationResult> list;
    for (bool more = true; more;) {
      ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
      if (more) {
        list.push_back({rows->Integer(0), std::string(rows->Text(1)), rows->Integer(2) != 0});
      }
    }
    return list;
  });
}

}  // namespace assay::samplestore
