// Operations of an SQLite store.
#include "base/text.h"
#include "samplestore/sqlite_store.h"

namespace assay::samplestore {

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
