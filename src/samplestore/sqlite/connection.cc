#include "samplestore/sqlite/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <utility>

namespace assay::samplestore {
namespace {

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

class SqliteStatement : public Statement {
 public:
  SqliteStatement(sqlite3_stmt* statement, const std::string& path) : statement_(statement), path_(path) {}
  ~SqliteStatement() override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  Statement& Bind(std::string_view text) override {
    // A null pointer would be NULL, not an empty text; so with bytes.
    const char* data = text.empty() ? "" : text.data();
    bind_error_ |= sqlite3_bind_text64(statement_, ++parameter_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
  }
  Statement& Bind(int64_t number) override {
    bind_error_ |= sqlite3_bind_int64(statement_, ++parameter_, number);
    return *this;
  }
  Statement& Bind(double number) override {
    bind_error_ |= sqlite3_bind_double(statement_, ++parameter_, number);
    return *this;
  }
  Statement& BindBytes(std::string_view bytes) override {
    const char* data = bytes.empty() ? "" : bytes.data();
    bind_error_ |= sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), SQLITE_TRANSIENT);
    return *this;
  }

  Result<bool> Step() override {
    sqlite3* handle = sqlite3_db_handle(statement_);
    if (bind_error_ != SQLITE_OK) {
      return SqliteStatus(bind_error_, sqlite3_errmsg(handle), path_);
    }
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
      return code == SQLITE_ROW;
    }
    return SqliteStatus(code, sqlite3_errmsg(handle), path_);
  }

  std::string_view Text(int column) const override {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return {reinterpret_cast<const char*>(text), SizeOf(column)};
  }
  std::string_view Bytes(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes), SizeOf(column)};
  }
  int64_t Integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double Number(int column) const override { return sqlite3_column_double(statement_, column); }

 private:
  size_t SizeOf(int column) const { return static_cast<size_t>(sqlite3_column_bytes(statement_, column)); }

  sqlite3_stmt* statement_;
  const std::string& path_;
  int parameter_ = 0;
  int bind_error_ = 0;
};

/// To open a pipe would wait for who writes into it.
Status CheckKind(const std::string& path) {
  struct stat there = {};
  if (::stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) {
    return Status::Ok();
  }
  return S_ISDIR(there.st_mode)
             ? Status::InvalidArgument(
                   fmt::format("store {} is a folder: name a file in it, such as {}/runs.db", path, path))
             : Status::InvalidArgument(fmt::format("{} is not a store: it is no file (name another one)", path));
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

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : cache_) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(handle_);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(const std::string& path, Access access,
                                                                 LeaseClock clock, double longest_lock_seconds) {
  ASSAY_RETURN_IF_ERROR(CheckKind(path));
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(path, std::move(clock)));
  const int mode = access == Access::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const std::string uri = FileUri(path, access == Access::kImmutable ? "immutable=1" : "");
  const int code =
      sqlite3_open_v2(uri.c_str(), &connection->handle_, mode | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    return SqliteStatus(code, sqlite3_errstr(code), path);
  }
  sqlite3_busy_timeout(connection->handle_, static_cast<int>(longest_lock_seconds * 1000));
  connection->is_frozen_ = access == Access::kImmutable;
  connection->file_ = connection->LookAtFile();
  return connection;
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::CopyOf(SqliteConnection& from) {
  std::unique_ptr<SqliteConnection> copy(new SqliteConnection(from.path_, from.clock_));
  copy->is_frozen_ = true;
  copy->file_ = copy->LookAtFile();
  // A database without a name is a file that SQLite removes.
  int code = sqlite3_open_v2("", &copy->handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_backup* backup = sqlite3_backup_init(copy->handle_, "main", from.handle_, "main");
    constexpr int kAllPages = -1;
    code = backup == nullptr ? sqlite3_errcode(copy->handle_) : sqlite3_backup_step(backup, kAllPages);
    code = code == SQLITE_DONE ? SQLITE_OK : code;
    sqlite3_backup_finish(backup);
  }
  if (code != SQLITE_OK) {
    return SqliteStatus(code, sqlite3_errstr(code), from.path_);
  }
  return copy;
}

SqliteConnection::FileState SqliteConnection::LookAtFile() const {
  struct stat status = {};
  if (::stat(path_.c_str(), &status) != 0) {
    return {};
  }
  FileState state{.device = status.st_dev, .inode = status.st_ino, .bytes = status.st_size};
  if (is_frozen_) {
    // What is written goes into the log first.
    struct stat log = {};
    const timespec& last = ::stat((path_ + "-wal").c_str(), &log) == 0 ? log.st_mtim : status.st_mtim;
    constexpr int64_t kNanoseconds = 1'000'000'000;
    state.changed_ns = last.tv_sec * kNanoseconds + last.tv_nsec;
  }
  return state;
}

Status SqliteConnection::CheckSame() {
  if (path_ == ":memory:") {
    return Status::Ok();  // SQLite's name for a database without a file
  }
  const FileState now = LookAtFile();
  if (now.inode == 0) {
    return Status::NotFound(fmt::format("store {} is not there any more: it was removed", path_));
  }
  if (now.device != file_.device || now.inode != file_.inode) {
    return Status::FailedPrecondition(fmt::format("store {} was replaced by another one", path_));
  }
  if (now.changed_ns != file_.changed_ns) {
    return Status::FailedPrecondition(fmt::format("store {} was changed since it was opened", path_));
  }
  // To read the file's beginning would be surer, but whoever closes a file ends the locks of the process on it.
  if (now.bytes < file_.bytes) {
    return Status::FailedPrecondition(fmt::format("store {} became shorter: it was damaged or made anew", path_));
  }
  file_.bytes = now.bytes;
  return Status::Ok();
}

SchemaWords SqliteConnection::words() const {
  return {.arrival = "INTEGER PRIMARY KEY AUTOINCREMENT",
          .id = "INTEGER PRIMARY KEY",
          .given_id = "INTEGER PRIMARY KEY",
          .by_key = " WITHOUT ROWID"};
}

Status SqliteConnection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : SqliteStatus(code, sqlite3_errmsg(handle_), path_);
}

Result<StatementPtr> SqliteConnection::Prepare(const std::string& sql) {
  const auto [entry, is_new] = cache_.try_emplace(sql, nullptr);
  if (is_new) {
    const int code = sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &entry->second, nullptr);
    if (code != SQLITE_OK) {
      cache_.erase(entry);
      return SqliteStatus(code, sqlite3_errmsg(handle_), path_);
    }
  }
  return StatementPtr(new SqliteStatement(entry->second, path_));
}

Result<bool> SqliteConnection::TableExists(std::string_view table) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         Prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"));
  return select->Bind(table).Step();
}

Result<StoreTime> SqliteConnection::Now() {
  return StoreTime{.epoch = clock_.epoch, .seconds = clock_.seconds()};
}

}  // namespace assay::samplestore
