// SQLite's C API as a Connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "samplestore/sql/connection.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::samplestore {

/// An open database file. While it writes, nobody else does.
class SqliteConnection : public Connection {
 public:
  enum class Access { kReadWrite, kReadOnly, kImmutable };

  static Result<std::unique_ptr<SqliteConnection>> Open(const std::string& path, Access access,
                                                        LeaseClock clock = MachineLeaseClock(),
                                                        double longest_lock_seconds = 20);
  /// A copy of `from` that ends with this connection, in a file without a name.
  static Result<std::unique_ptr<SqliteConnection>> CopyOf(SqliteConnection& from);
  ~SqliteConnection() override;

  const std::string& name() const override { return path_; }
  SchemaWords words() const override;
  Status Execute(const std::string& sql) override;
  Result<StatementPtr> Prepare(const std::string& sql) override;
  Result<bool> TableExists(std::string_view table) override;
  Status Begin() override { return Execute("BEGIN IMMEDIATE"); }
  Status Lock(std::string_view) override { return Status::Ok(); }
  Status CheckSame() override;
  Result<StoreTime> Now() override;

 private:
  /// What is told of a file when it is opened, and compared later.
  struct FileState {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t bytes = 0;
    int64_t changed_ns = 0;  ///< 0 where the database itself is open, which sees what changes
  };
  FileState LookAtFile() const;

  SqliteConnection(std::string path, LeaseClock clock) : path_(std::move(path)), clock_(std::move(clock)) {}

  std::string path_;
  LeaseClock clock_;
  sqlite3* handle_ = nullptr;
  bool is_frozen_ = false;  ///< a copy, or taken for one that nobody writes: what changes in the file is not seen
  FileState file_;
  std::map<std::string, sqlite3_stmt*> cache_;
};

/// `code` of SQLite on the store at `path`, with what to do. `detail` is SQLite's own text.
Status SqliteStatus(int code, std::string_view detail, std::string_view path);

}  // namespace assay::samplestore
