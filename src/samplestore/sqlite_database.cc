#include "samplestore/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace assay::samplestore {
namespace {

constexpr int kBusyTimeoutMs = 20'000;

struct ErrorAdvice {
  int code;
  ErrorCode kind;
  const char* text;
};

constexpr ErrorAdvice kErrors[] = {
    {SQLITE_FULL, ErrorCode::kIo, "cannot write store {}: the disk is full (free some space, or choose another place)"},
    {SQLITE_READONLY, ErrorCode::kPermissionDenied,
     "cannot write store {}: it is read-only (check its permissions and its folder's, or choose another place)"},
    {SQLITE_PERM, ErrorCode::kPermissionDenied,
     "cannot use store {}: the system refuses access (check its permissions)"},
    {SQLITE_CANTOPEN, ErrorCode::kPermissionDenied,
     "cannot open store {}: the file cannot be opened or made (check the path and the permissions of its folder)"},
    {SQLITE_NOTADB, ErrorCode::kFailedPrecondition,
     "{} is not a store: it is no SQLite database (choose another file)"},
    {SQLITE_CORRUPT, ErrorCode::kFailedPrecondition,
     "store {} is damaged (restore it from a copy, or choose another file)"},
    {SQLITE_IOERR, ErrorCode::kIo,
     "cannot read or write store {}: the system reports an error of the disk, as a full one can be (free some space, "
     "check the disk, or choose another place)"},
    {SQLITE_BUSY, ErrorCode::kIo,
     "store {} is locked by another program for too long (end that program, and try again)"},
};

std::string Utf8(const unsigned char* text, int bytes) {
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), bytes);
}

// SQLite's URI form, needed for immutable=1.
std::string FileUri(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  // Two slashes at the front would name a host.
  const size_t first = path.starts_with("//") ? path.find_first_not_of('/') - 1 : 0;
  for (const char c : path.substr(first)) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return fmt::format("{}?{}", uri, query);
}

}  // namespace

Status SqliteStatus(int code, std::string_view detail, std::string_view path) {
  constexpr int kPrimaryCode = 0xff;
  for (const ErrorAdvice& row : kErrors) {
    if (row.code == (code & kPrimaryCode)) {
      return {row.kind, fmt::format(fmt::runtime(row.text), path)};
    }
  }
  return Status::Io(fmt::format("store {}: {}", path, detail));
}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      path_(other.path_),
      parameter_(other.parameter_),
      bind_error_(other.bind_error_) {}

Statement::~Statement() {
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
}

Statement& Statement::Bind(std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  bind_error_ |= sqlite3_bind_text64(statement_, ++parameter_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::Bind(int64_t number) {
  bind_error_ |= sqlite3_bind_int64(statement_, ++parameter_, number);
  return *this;
}

Statement& Statement::Bind(double number) {
  bind_error_ |= sqlite3_bind_double(statement_, ++parameter_, number);
  return *this;
}

Statement& Statement::BindBlob(std::string_view bytes) {
  // A null pointer would be NULL, not an empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  bind_error_ |= sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::BindValue(const space::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return Bind(std::string_view(*text));
  }
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return Bind(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return Bind(*number);
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return BindBlob(std::string_view(*flag ? "\1" : "\0", 1));
  }
  bind_error_ |= sqlite3_bind_null(statement_, ++parameter_);
  return *this;
}

Result<bool> Statement::Step() {
  sqlite3* handle = sqlite3_db_handle(statement_);
  if (bind_error_ != SQLITE_OK) {
    return SqliteStatus(bind_error_, sqlite3_errmsg(handle), *path_);
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  return SqliteStatus(code, sqlite3_errmsg(handle), *path_);
}

Status Statement::Run() {
  return Step().status();
}

std::string Statement::Text(int column) const {
  return std::string(TextView(column));
}

std::string_view Statement::TextView(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Statement::BlobView(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double Statement::Number(int column) const {
  return sqlite3_column_double(statement_, column);
}

space::Value Statement::GetValue(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Integer(column);
    case SQLITE_FLOAT:
      return Number(column);
    case SQLITE_TEXT:
      return Utf8(sqlite3_column_text(statement_, column), sqlite3_column_bytes(statement_, column));
    case SQLITE_BLOB:
      return BlobView(column) == std::string_view("\1", 1);
    default:
      return {};
  }
}

Database::Database(const std::string& path) : path_(std::make_unique<const std::string>(path)) {}

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)), cache_(std::move(other.cache_)) {
  other.cache_.clear();
}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  std::swap(cache_, other.cache_);
  return *this;
}

Database::~Database() {
  for (const auto& [sql, statement] : cache_) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(handle_);
}

Result<Database> Database::Open(const std::string& path, Access access) {
  Database database(path);
  const int mode = access == Access::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const std::string uri = FileUri(path, access == Access::kImmutable ? "immutable=1" : "");
  const int code =
      sqlite3_open_v2(uri.c_str(), &database.handle_, mode | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    return SqliteStatus(code, sqlite3_errstr(code), path);
  }
  sqlite3_busy_timeout(database.handle_, kBusyTimeoutMs);
  return database;
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : SqliteStatus(code, sqlite3_errmsg(handle_), *path_);
}

Result<Statement> Database::Prepare(const std::string& sql) {
  const auto [entry, is_new] = cache_.try_emplace(sql, nullptr);
  if (is_new) {
    const int code = sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &entry->second, nullptr);
    if (code != SQLITE_OK) {
      cache_.erase(entry);
      return SqliteStatus(code, sqlite3_errmsg(handle_), *path_);
    }
  }
  return Statement(entry->second, *path_);
}

Result<int64_t> Database::QueryInteger(const std::string& sql) {
  ASSAY_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  ASSAY_ASSIGN_OR_RETURN(const bool found, statement.Step());
  if (!found) {
    return Status::Internal(fmt::format("store {}: no row for {}", *path_, sql));
  }
  return statement.Integer(0);
}

int Database::last_error() const {
  return sqlite3_errcode(handle_);
}

Result<Transaction> Transaction::Begin(Database& database) {
  ASSAY_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    // A failure here means that SQLite has rolled back already.
    static_cast<void>(database_->Execute("ROLLBACK"));
  }
}

Status Transaction::Commit() {
  ASSAY_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return Status::Ok();
}

}  // namespace assay::samplestore
