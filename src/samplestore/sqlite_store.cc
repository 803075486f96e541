#include "samplestore/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/json.h"
#include "samplestore/sqlite_migration.h"
#include "samplestore/sqlite_schema.h"

namespace assay::samplestore {
namespace {

static_assert(std::endian::native == std::endian::little, "series are stored as little-endian doubles");

constexpr char kConstitutive[] = "constitutive";
constexpr char kTarget[] = "target";

Status InStore(const Database& database, const Status& status) {
  return status.WithContext(fmt::format("store {}", database.path()));
}

Result<Measurement> ParseDocument(const Database& database, std::string_view text) {
  const Result<nlohmann::json> json = ParseJson(text, database.path());
  if (!json.ok()) {
    return json.status();
  }
  Result<Measurement> measurement = MeasurementFromJson(*json);
  return measurement.ok() ? std::move(measurement) : InStore(database, measurement.status());
}

bool Holds(bool is_invalid, const Facts& depends_on, const Facts& here) {
  return (!is_invalid || SaysWhatJudged(depends_on)) && Agrees(depends_on, here);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Result<Database> OpenToWrite(const std::string& path, const LeaseClock& clock) {
  if (IsDirectory(path)) {
    return Status::InvalidArgument(
        fmt::format("store {} is a folder: name a file in it, such as {}/runs.db", path, path));
  }
  if (!ParentOf(path).empty()) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(ParentOf(path)));
  }
  ASSAY_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kReadWrite));
  ASSAY_RETURN_IF_ERROR(PrepareSchema(database));
  ASSAY_RETURN_IF_ERROR(Migrate(database, clock));
  return database;
}

/// One of an older schema stays as it is: programs that know no newer one may measure into it, and its rows can be
/// read.
Result<Database> OpenToRead(const std::string& path) {
  if (!FileExists(path)) {
    return Status::NotFound(
        fmt::format("there is no store at {} (measure something first, or name another one)", path));
  }
  ASSAY_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kReadOnly));
  Status status = CheckSchema(database);
  if (status.code() == ErrorCode::kPermissionDenied) {
    // A reader of a WAL database makes a file beside it. Where it may not, nobody writes either.
    ASSAY_ASSIGN_OR_RETURN(database, Database::Open(path, Database::Access::kImmutable));
    status = CheckSchema(database);
  }
  ASSAY_RETURN_IF_ERROR(status);
  return database;
}

}  // namespace

Result<std::unique_ptr<SampleStore>> SqliteStore::Open(const std::string& url, const std::string& path,
                                                       StoreAccess access, LeaseClock clock) {
  ASSAY_ASSIGN_OR_RETURN(Database database,
                         access == StoreAccess::kReadWrite ? OpenToWrite(path, clock) : OpenToRead(path));
  return std::unique_ptr<SampleStore>(new SqliteStore(url, std::move(database), std::move(clock)));
}

Status SqliteStore::Append(const Measurement& measurement) {
  return AppendClaimed(measurement, 0).status();
}

Result<AppendResult> SqliteStore::AppendClaimed(const Measurement& measurement, int64_t fence) {
  const std::lock_guard lock(mutex_);
  const std::map<ColumnKey, int64_t> known_columns = columns_;
  Result<AppendResult> result = AddInTransaction(measurement, fence);
  if (result.ok() && *result == AppendResult::kAdded) {
    return result;
  }
  const Status logged = LogRefused(measurement);
  if (result.ok()) {
    ASSAY_RETURN_IF_ERROR(logged);
    return result;
  }
  columns_ = known_columns;
  const std::string where = logged.ok() ? "what was measured is in " + RefusedFile() : logged.message();
  return Status(result.status().code(), fmt::format("{}; {}", result.status().message(), where));
}

Result<AppendResult> SqliteStore::AddInTransaction(const Measurement& measurement, int64_t fence) {
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  if (fence != 0) {
    ASSAY_ASSIGN_OR_RETURN(const bool is_ours, EndClaim(KeyOf(measurement), fence));
    if (!is_ours) {
      return AppendResult::kRefused;
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t id, InsertMeasurement(measurement));
  ASSAY_RETURN_IF_ERROR(InsertDocument(id, measurement));
  ASSAY_RETURN_IF_ERROR(InsertCells(id, kConstitutive, measurement.entity));
  ASSAY_RETURN_IF_ERROR(InsertCells(id, kTarget, measurement.properties));
  ASSAY_RETURN_IF_ERROR(InsertSeries(id, measurement));
  ASSAY_RETURN_IF_ERROR(InsertDependencies(id, measurement));
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return AppendResult::kAdded;
}

Status SqliteStore::LogRefused(const Measurement& measurement) {
  const std::string line = DumpJson(ToJson(measurement)) + "\n";
  const FileDescriptor log = OpenFile(RefusedFile().c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  const auto failure = [this] { return ErrnoStatus(errno, "write a refused measurement to", RefusedFile()); };
  struct stat before = {};
  // Others append, too: what they wrote must not be cut off with half a line of ours.
  if (!log.valid() || RetryOnSignal([&] { return ::flock(log.get(), LOCK_EX); }) != 0 ||
      ::fstat(log.get(), &before) != 0) {
    return failure();
  }
  if (WriteAll(log.get(), std::as_bytes(std::span(line)))) {
    return Status::Ok();
  }
  Status status = failure();
  // The next line would go on where half of this one ends.
  [[maybe_unused]] const int cut = ::ftruncate(log.get(), before.st_size);
  return status;
}

Result<int64_t> SqliteStore::Remove(const MeasurementFilter& filter) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  std::vector<int64_t> ids;
  {
    ASSAY_ASSIGN_OR_RETURN(Statement rows, PrepareQuery("SELECT m.id FROM measurements AS m", ToSql(filter)));
    for (bool more = true; more;) {
      ASSAY_ASSIGN_OR_RETURN(more, rows.Step());
      if (more) {
        ids.push_back(rows.Integer(0));
      }
    }
  }
  for (const int64_t id : ids) {
    for (const char* remove :
         {"DELETE FROM dependencies WHERE measurement_id = ?", "DELETE FROM series WHERE measurement_id = ?",
          "DELETE FROM cells WHERE measurement_id = ? AND column_id IN (SELECT id FROM columns)",
          "DELETE FROM documents WHERE measurement_id = ?", "DELETE FROM measurements WHERE id = ?"}) {
      ASSAY_ASSIGN_OR_RETURN(Statement statement, database_.Prepare(remove));
      ASSAY_RETURN_IF_ERROR(statement.Bind(id).Run());
    }
  }
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return static_cast<int64_t>(ids.size());
}

Result<int64_t> SqliteStore::InsertMeasurement(const Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(Statement exists, database_.Prepare("SELECT 1 FROM measurements WHERE uid = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, exists.Bind(measurement.uid).Step());
  if (found) {
    return Status::InvalidArgument(
        fmt::format("store {} has a measurement with uid {} already", database_.path(), measurement.uid));
  }
  ASSAY_ASSIGN_OR_RETURN(
      Statement insert,
      database_.Prepare("INSERT INTO measurements(uid, experiment, parameterized_id, entity_id, outcome, measured_at) "
                        "VALUES (?, ?, ?, ?, ?, ?) RETURNING id"));
  insert.Bind(measurement.uid).Bind(measurement.experiment).Bind(measurement.parameterized_id);
  insert.Bind(measurement.entity_id).Bind(ToString(measurement.outcome)).Bind(measurement.measured_at);
  ASSAY_RETURN_IF_ERROR(insert.Run());
  return insert.Integer(0);
}

Status SqliteStore::InsertDocument(int64_t id, const Measurement& measurement) {
  nlohmann::json json = ToJson(measurement);
  json.erase("series");
  ASSAY_ASSIGN_OR_RETURN(Statement insert,
                         database_.Prepare("INSERT INTO documents(measurement_id, json) VALUES (?, ?)"));
  return insert.Bind(id).Bind(DumpJson(json)).Run();
}

Status SqliteStore::InsertCells(int64_t id, const std::string& kind,
                                const std::map<std::string, space::Value>& values) {
  for (const auto& [name, value] : values) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t column, FindOrMakeColumn(kind, name));
    ASSAY_ASSIGN_OR_RETURN(Statement insert,
                           database_.Prepare("INSERT INTO cells(column_id, measurement_id, value) VALUES (?, ?, ?)"));
    ASSAY_RETURN_IF_ERROR(insert.Bind(column).Bind(id).BindValue(value).Run());
  }
  return Status::Ok();
}

Status SqliteStore::InsertSeries(int64_t id, const Measurement& measurement) {
  for (const auto& [name, values] : measurement.series) {
    ASSAY_ASSIGN_OR_RETURN(Statement insert,
                           database_.Prepare("INSERT INTO series(measurement_id, name, float64_le) VALUES (?, ?, ?)"));
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    ASSAY_RETURN_IF_ERROR(insert.Bind(id).Bind(name).BindBlob(bytes).Run());
  }
  return Status::Ok();
}

Status SqliteStore::InsertDependencies(int64_t id, const Measurement& measurement) {
  for (const auto& [name, value] : measurement.depends_on) {
    ASSAY_ASSIGN_OR_RETURN(Statement insert, database_.Prepare(kInsertDependency));
    ASSAY_RETURN_IF_ERROR(insert.Bind(id).Bind(name).Bind(value).Run());
  }
  return Status::Ok();
}

Result<int64_t> SqliteStore::FindOrMakeColumn(const std::string& kind, const std::string& name) {
  const ColumnKey key(kind, name);
  if (const auto known = columns_.find(key); known != columns_.end()) {
    return known->second;
  }
  ASSAY_ASSIGN_OR_RETURN(Statement insert,
                         database_.Prepare("INSERT OR IGNORE INTO columns(kind, name) VALUES (?, ?)"));
  ASSAY_RETURN_IF_ERROR(insert.Bind(kind).Bind(name).Run());
  ASSAY_ASSIGN_OR_RETURN(Statement find, database_.Prepare("SELECT id FROM columns WHERE kind = ? AND name = ?"));
  ASSAY_RETURN_IF_ERROR(find.Bind(kind).Bind(name).Run());
  return columns_[key] = find.Integer(0);
}

Result<int64_t> SqliteStore::FindColumn(const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(Statement find,
                         database_.Prepare("SELECT id FROM columns WHERE name = ? ORDER BY kind LIMIT 1"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, find.Bind(name).Step());
  return found ? find.Integer(0) : 0;
}

Status SqliteStore::ReadSeries(int64_t id, Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(Statement select,
                         database_.Prepare("SELECT name, float64_le FROM series WHERE measurement_id = ?"));
  select.Bind(id);
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return Status::Ok();
    }
    const std::string_view bytes = select.BlobView(1);
    std::vector<double>& values = measurement.series[select.Text(0)];
    values.resize(bytes.size() / sizeof(double));
    if (!values.empty()) {
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    }
  }
}

Result<std::optional<Measurement>> SqliteStore::Read(int64_t id) {
  ASSAY_ASSIGN_OR_RETURN(Statement select, database_.Prepare("SELECT json FROM documents WHERE measurement_id = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select.Bind(id).Step());
  if (!found) {
    return std::optional<Measurement>();
  }
  ASSAY_ASSIGN_OR_RETURN(Measurement measurement, ParseDocument(database_, select.TextView(0)));
  measurement.arrival = id;
  ASSAY_RETURN_IF_ERROR(ReadSeries(id, measurement));
  return std::optional<Measurement>(std::move(measurement));
}

Result<SqliteStore::Known> SqliteStore::FindKnownInDocuments(const MemoKey& key, const Facts& here) {
  ASSAY_ASSIGN_OR_RETURN(
      Statement select,
      database_.Prepare(
          "SELECT m.id, d.json FROM measurements AS m JOIN documents AS d ON d.measurement_id = m.id WHERE "
          "m.parameterized_id = ? AND m.entity_id = ? AND m.outcome <> 'failed' ORDER BY m.id"));
  select.Bind(key.parameterized_id).Bind(key.entity_id);
  Known known;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return known;
    }
    ASSAY_ASSIGN_OR_RETURN(const Measurement measurement, ParseDocument(database_, select.TextView(1)));
    const bool is_invalid = measurement.outcome == Outcome::kInvalid;
    if (Holds(is_invalid, measurement.depends_on, here)) {
      known = {select.Integer(0), is_invalid, known.valid + (is_invalid ? 0 : 1)};
    }
  }
}

Result<SqliteStore::Known> SqliteStore::FindKnown(const MemoKey& key, const Facts& here) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(database_));
  if (version == 1) {
    return FindKnownInDocuments(key, here);
  }
  ASSAY_ASSIGN_OR_RETURN(
      Statement select,
      database_.Prepare(
          "SELECT m.id, m.outcome = 'invalid', d.name, d.value FROM measurements AS m LEFT JOIN dependencies AS d ON "
          "d.measurement_id = m.id WHERE m.parameterized_id = ? AND m.entity_id = ? AND m.outcome <> 'failed' ORDER BY "
          "m.id"));
  select.Bind(key.parameterized_id).Bind(key.entity_id);
  Known known;
  struct {
    int64_t id = 0;
    bool is_invalid = false;
    Facts depends_on;
  } row;
  const auto count = [&] {
    if (row.id != 0 && Holds(row.is_invalid, row.depends_on, here)) {
      known = {row.id, row.is_invalid, known.valid + (row.is_invalid ? 0 : 1)};
    }
  };
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more || select.Integer(0) != row.id) {
      count();
    }
    if (!more) {
      return known;
    }
    if (select.Integer(0) != row.id) {
      row = {select.Integer(0), select.Integer(1) != 0, {}};
    }
    row.depends_on[select.Text(2)] = select.Text(3);
  }
}

Result<std::optional<Measurement>> SqliteStore::FindMeasured(const MemoKey& key, const Facts& here) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(const Known known, FindKnown(key, here));
  return Read(known.newest_id);
}

Result<bool> SqliteStore::IsMeasured(const MemoKey& key, int64_t wanted, const Facts& here) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(const Known known, FindKnown(key, here));
  return known.newest_id != 0 && (known.newest_is_invalid || known.valid >= wanted);
}

Result<std::optional<Measurement>> SqliteStore::FindLatest(const MemoKey& key) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement select, database_.Prepare("SELECT max(id) FROM measurements WHERE "
                                                             "parameterized_id = ? AND entity_id = ?"));
  ASSAY_RETURN_IF_ERROR(select.Bind(key.parameterized_id).Bind(key.entity_id).Run());
  return Read(select.Integer(0));
}

Result<Statement> SqliteStore::PrepareQuery(const std::string& select, const SqlFilter& filter) {
  ASSAY_ASSIGN_OR_RETURN(Statement statement, database_.Prepare(select + filter.where + filter.order_and_limit));
  for (const space::Value& parameter : filter.parameters) {
    statement.BindValue(parameter);
  }
  return statement;
}

Result<int64_t> SqliteStore::Count(const MeasurementFilter& filter) {
  const std::lock_guard lock(mutex_);
  const SqlFilter sql = ToSql(filter);
  ASSAY_ASSIGN_OR_RETURN(Statement statement,
                         database_.Prepare(fmt::format("SELECT count(*) FROM (SELECT m.id FROM measurements AS m{}{})",
                                                       sql.where, sql.order_and_limit)));
  for (const space::Value& parameter : sql.parameters) {
    statement.BindValue(parameter);
  }
  ASSAY_RETURN_IF_ERROR(statement.Run());
  return statement.Integer(0);
}

Result<std::vector<MeasurementRow>> SqliteStore::ListRows(const MeasurementFilter& filter,
                                                          const std::vector<std::string>& columns) {
  const std::lock_guard lock(mutex_);
  std::string select = "SELECT m.id, m.uid, m.experiment, m.parameterized_id, m.entity_id, m.outcome, m.measured_at";
  for (const std::string& name : columns) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t column, FindColumn(name));
    select += fmt::format(", (SELECT value FROM cells WHERE column_id = {} AND measurement_id = m.id)", column);
  }
  ASSAY_ASSIGN_OR_RETURN(Statement rows, PrepareQuery(select + " FROM measurements AS m", ToSql(filter)));
  constexpr int kFixedColumns = 7;
  std::vector<MeasurementRow> list;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      return list;
    }
    ASSAY_ASSIGN_OR_RETURN(const Outcome outcome, OutcomeFromString(rows.TextView(5)));
    MeasurementRow row{rows.Integer(0), rows.Text(1), rows.Text(2), rows.Text(3),
                       rows.Text(4),    outcome,      rows.Text(6), {}};
    row.values.reserve(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      row.values.push_back(rows.GetValue(kFixedColumns + static_cast<int>(i)));
    }
    list.push_back(std::move(row));
  }
}

Result<std::vector<Measurement>> SqliteStore::List(const MeasurementFilter& filter, bool with_series) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(Statement rows, PrepareQuery("SELECT m.id, d.json FROM measurements AS m JOIN documents AS d "
                                                      "ON d.measurement_id = m.id",
                                                      ToSql(filter)));
  std::vector<Measurement> list;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      return list;
    }
    ASSAY_ASSIGN_OR_RETURN(Measurement measurement, ParseDocument(database_, rows.TextView(1)));
    measurement.arrival = rows.Integer(0);
    if (with_series) {
      ASSAY_RETURN_IF_ERROR(ReadSeries(rows.Integer(0), measurement));
    }
    list.push_back(std::move(measurement));
  }
}

Status SqliteStore::ForEachDocument(const MeasurementFilter& filter,
                                    const std::function<Status(std::string_view)>& visit) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSIGN_OR_RETURN(
      Statement rows,
      PrepareQuery("SELECT d.json FROM measurements AS m JOIN documents AS d ON d.measurement_id = m.id",
                   ToSql(filter)));
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(visit(rows.TextView(0)));
  }
}

}  // namespace assay::samplestore
