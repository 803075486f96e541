#include "samplestore/postgres/postgres_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/files.h"
#include "samplestore/postgres/connection.h"
#include "samplestore/sql/schema.h"
#include "samplestore/sql/sql_store.h"

namespace assay::samplestore {
namespace {

Status CheckStore(PostgresConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(connection));
  return CheckNotNewer(connection, version);
}

Result<bool> HasSchema(PostgresConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection.Prepare("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?"));
  return select->Bind(std::string_view(connection.address().schema)).Step();
}

/// Tables of another program, into which ours would not fit.
Status CheckHasNoTables(PostgresConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection.Prepare("SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ?"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select->Bind(std::string_view(connection.address().schema)).Step());
  return found ? Status::FailedPrecondition(
                     fmt::format("{} is not a store: its schema '{}' has tables of another program (name another one "
                                 "with ?schema=NAME)",
                                 connection.name(), connection.address().schema))
               : Status::Ok();
}

class BareTransaction {
 public:
  explicit BareTransaction(Connection& connection) : connection_(&connection) {}
  ~BareTransaction() {
    if (connection_ != nullptr) {
      connection_->Rollback();
    }
  }
  Status Commit() { return std::exchange(connection_, nullptr)->Commit(); }

 private:
  Connection* connection_;
};

/// Safe when several processes do so at once: one waits for the other.
Status MakeStoreUnlessThere(PostgresConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_there, connection.TableExists("store_schema"));
  if (is_there) {
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(connection.Execute("BEGIN"));
  BareTransaction transaction(connection);
  ASSAY_RETURN_IF_ERROR(connection.Lock("make the store"));
  ASSAY_ASSIGN_OR_RETURN(const bool has_schema, HasSchema(connection));
  if (!has_schema) {
    ASSAY_RETURN_IF_ERROR(connection.Execute("CREATE SCHEMA " + QuotedName(connection.address().schema)));
  }
  ASSAY_ASSIGN_OR_RETURN(const bool made_meanwhile, connection.TableExists("store_schema"));
  if (!made_meanwhile) {
    ASSAY_RETURN_IF_ERROR(CheckHasNoTables(connection));
    ASSAY_RETURN_IF_ERROR(MakeTables(connection));
  }
  return transaction.Commit();
}

Status CheckIsThere(PostgresConnection& connection) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_there, connection.TableExists("store_schema"));
  return is_there ? Status::Ok()
                  : Status::NotFound(fmt::format(
                        "there is no store at {} (measure something first, or name another one)", connection.name()));
}

}  // namespace

Result<std::unique_ptr<SampleStore>> OpenPostgresStore(const std::string& url, StoreAccess access,
                                                       const StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(PostgresAddress address, ParsePostgresUrl(url));
  ASSAY_ASSIGN_OR_RETURN(auto connection, PostgresConnection::Open(std::move(address), access, options));
  ASSAY_RETURN_IF_ERROR(access == StoreAccess::kReadWrite ? MakeStoreUnlessThere(*connection)
                                                          : CheckIsThere(*connection));
  ASSAY_RETURN_IF_ERROR(CheckStore(*connection));
  const std::string name = connection->name();
  const std::string refused = fmt::format("{}/{}.refused.jsonl", UserDataDirectory(), connection->address().file_name);
  return KnowingWhichItIs(std::make_unique<SqlStore>(name, refused, std::move(connection)));
}

}  // namespace assay::samplestore
