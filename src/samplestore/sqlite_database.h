// SQLite's C API as types that clean up after themselves and report errors as Status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "space/entity.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::samplestore {

/// A prepared statement lent by a Database: bind, step, read columns. Goes back, reset, with its last owner. A failed
/// bind is reported by the next Step.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Parameters are bound in the order of the calls.
  Statement& Bind(std::string_view text);
  Statement& Bind(int64_t number);
  Statement& Bind(double number);
  Statement& BindBlob(std::string_view bytes);
  /// None as NULL, a bool as a blob of one byte (SQLite has no bool), everything else as itself.
  Statement& BindValue(const space::Value& value);

  /// True: there is a row. False: done.
  Result<bool> Step();
  /// Steps a statement that yields no rows.
  Status Run();

  std::string Text(int column) const;
  /// Valid until the next Step.
  std::string_view TextView(int column) const;
  std::string_view BlobView(int column) const;
  int64_t Integer(int column) const;
  double Number(int column) const;
  space::Value GetValue(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, const std::string& path) : statement_(statement), path_(&path) {}
  sqlite3_stmt* statement_;
  const std::string* path_;
  int parameter_ = 0;
  int bind_error_ = 0;
};

/// An open database file. Not safe for several threads at once.
class Database {
 public:
  enum class Access { kReadWrite, kReadOnly, kImmutable };

  static Result<Database> Open(const std::string& path, Access access);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Runs statements that yield nothing of interest.
  Status Execute(const std::string& sql);
  /// Prepares `sql`, or takes it out of the cache; two lent statements of one text are never needed at once.
  Result<Statement> Prepare(const std::string& sql);
  /// The first column of the first row; an error when there is no row.
  Result<int64_t> QueryInteger(const std::string& sql);
  /// The result code of the newest failed call.
  int last_error() const;
  const std::string& path() const { return *path_; }

 private:
  explicit Database(const std::string& path);
  std::unique_ptr<const std::string> path_;  ///< at an address that does not move with the object
  sqlite3* handle_ = nullptr;
  std::map<std::string, sqlite3_stmt*> cache_;
};

/// BEGIN IMMEDIATE until Commit; rolled back by the destructor otherwise.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

/// `code` of SQLite on the store at `path`, with what to do. `detail` is SQLite's own text.
Status SqliteStatus(int code, std::string_view detail, std::string_view path);

}  // namespace assay::samplestore
