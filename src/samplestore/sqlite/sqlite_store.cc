#include "samplestore/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/files.h"
#include "samplestore/sql/schema.h"
#include "samplestore/sql/sql_store.h"
#include "samplestore/sqlite/connection.h"
#include "samplestore/sqlite/migration.h"

namespace assay::samplestore {
namespace {

using ConnectionPtr = std::unique_ptr<SqliteConnection>;
using Access = SqliteConnection::Access;

constexpr char kCountTables[] = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Of a database that has tables. An error for one that is no store, or a store of a newer version.
Result<int64_t> CheckedVersion(SqliteConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_store, connection.TableExists("store_schema"));
  if (!is_store) {
    return Status::FailedPrecondition(fmt::format(
        "{} is not a store: it is an SQLite database of another program (choose another file)", connection.name()));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(connection));
  ASSAY_RETURN_IF_ERROR(CheckNotNewer(connection, version));
  return version;
}

// Changing to WAL needs the file for itself and does not wait for it by the busy timeout.
Status UseWal(SqliteConnection& connection) {
  constexpr int kTries = 100;
  constexpr auto kPause = std::chrono::milliseconds(20);
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = connection.Execute("PRAGMA journal_mode = WAL");
    if (status.ok() || status.code() != ErrorCode::kIo) {
      return status;
    }
    std::this_thread::sleep_for(kPause);
  }
  return status;
}

Status SetUpWriting(SqliteConnection& connection) {
  ASSAY_RETURN_IF_ERROR(UseWal(connection));
  // In WAL mode `synchronous` loses nothing when a process dies; only a power cut may take the last transactions. What
  // is written comes into the file in pieces of 32 MiB, and is synced then.
  return connection.Execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 8192");
}

/// Safe when several processes do so at once.
Status MakeStore(SqliteConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables, connection.QueryInteger(kCountTables));
  if (tables != 0) {
    return CheckedVersion(connection).status();
  }
  ASSAY_RETURN_IF_ERROR(MakeTables(connection));
  return transaction.Commit();
}

Result<ConnectionPtr> OpenToWrite(const std::string& path, const LeaseClock& clock, double longest_lock_seconds) {
  if (!ParentOf(path).empty()) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(ParentOf(path)));
  }
  ASSAY_ASSIGN_OR_RETURN(ConnectionPtr connection,
                         SqliteConnection::Open(path, Access::kReadWrite, clock, longest_lock_seconds));
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables, connection->QueryInteger(kCountTables));
  if (tables == 0) {
    ASSAY_RETURN_IF_ERROR(SetUpWriting(*connection));
    ASSAY_RETURN_IF_ERROR(MakeStore(*connection));
    return connection;
  }
  ASSAY_RETURN_IF_ERROR(CheckedVersion(*connection).status());
  ASSAY_RETURN_IF_ERROR(SetUpWriting(*connection));
  ASSAY_RETURN_IF_ERROR(Migrate(*connection));
  return connection;
}

Result<int64_t> VersionToRead(SqliteConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables, connection.QueryInteger(kCountTables));
  if (tables == 0) {
    return Status::FailedPrecondition(
        fmt::format("store {} is empty: nothing was stored in it (measure something first, or name another one)",
                    connection.name()));
  }
  return CheckedVersion(connection);
}

Result<ConnectionPtr> OpenToRead(const std::string& path, const LeaseClock& clock, double longest_lock_seconds) {
  if (!FileExists(path)) {
    return Status::NotFound(
        fmt::format("there is no store at {} (measure something first, or name another one)", path));
  }
  ASSAY_ASSIGN_OR_RETURN(ConnectionPtr connection,
                         SqliteConnection::Open(path, Access::kReadOnly, clock, longest_lock_seconds));
  Result<int64_t> version = VersionToRead(*connection);
  if (version.status().code() == ErrorCode::kPermissionDenied) {
    // A reader of a WAL database makes a file beside it, unless who writes has. Where it may not, nobody writes now;
    // once somebody does, CheckSame() says so.
    ASSAY_ASSIGN_OR_RETURN(connection, SqliteConnection::Open(path, Access::kImmutable, clock, longest_lock_seconds));
    version = VersionToRead(*connection);
  }
  ASSAY_RETURN_IF_ERROR(version.status());
  if (*version < kStoreSchema) {
    // Programs that know no newer schema may measure into it: it stays as it is, and a copy is read.
    ASSAY_ASSIGN_OR_RETURN(connection, SqliteConnection::CopyOf(*connection));
    ASSAY_RETURN_IF_ERROR(MigrateCopy(*connection));
    ASSAY_RETURN_IF_ERROR(connection->Execute("PRAGMA query_only = ON"));
  }
  return connection;
}

}  // namespace

Result<std::unique_ptr<SampleStore>> OpenSqliteStore(const std::string& url, const std::string& path,
                                                     StoreAccess access, const StoreOptions& options) {
  const LeaseClock clock = options.clock.value_or(MachineLeaseClock());
  ASSAY_ASSIGN_OR_RETURN(ConnectionPtr connection, access == StoreAccess::kReadWrite
                                                       ? OpenToWrite(path, clock, options.longest_lock_seconds)
                                                       : OpenToRead(path, clock, options.longest_lock_seconds));
  return KnowingWhichItIs(std::make_unique<SqlStore>(url, path + ".refused.jsonl", std::move(connection)));
}

}  // namespace assay::samplestore
