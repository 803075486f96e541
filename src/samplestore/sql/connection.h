// A connection to a database that speaks SQL: what SQLite and PostgreSQL have in common, and where they differ.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "samplestore/lease_clock.h"

namespace assay::samplestore {

/// A prepared statement lent by a Connection: bind, step, read columns. It is given back when it ends, so that only one
/// of a text is out at a time. A failed bind is reported by the next Step. What a column is read as is what it is.
class Statement {
 public:
  virtual ~Statement() = default;

  /// Parameters are bound in the order of the calls.
  virtual Statement& Bind(std::string_view text) = 0;
  virtual Statement& Bind(int64_t number) = 0;
  virtual Statement& Bind(double number) = 0;
  virtual Statement& BindBytes(std::string_view bytes) = 0;

  /// True: there is a row. False: done. What a statement changes is changed once it is done.
  virtual Result<bool> Step() = 0;
  /// To its end; rows are passed over.
  Status Run();

  /// The views are valid until the next Step. NULL reads as "", 0.
  virtual std::string_view Text(int column) const = 0;
  virtual std::string_view Bytes(int column) const = 0;
  virtual int64_t Integer(int column) const = 0;
  virtual double Number(int column) const = 0;
};

using StatementPtr = std::unique_ptr<Statement>;

/// Words that differ in CREATE TABLE.
struct SchemaWords {
  std::string_view arrival;   ///< a number as key that the database counts up, and never gives again
  std::string_view id;        ///< a number as key that the database makes
  std::string_view given_id;  ///< a number as key that it is given
  std::string_view by_key;    ///< what follows a table whose rows are found by their key alone
};

/// Where measurements come in one after another.
constexpr int64_t kAllSettled = std::numeric_limits<int64_t>::max();

/// One connection to one store. Parameters are written as `?`, in every dialect. Not safe for several threads at once.
class Connection {
 public:
  virtual ~Connection() = default;

  /// How messages call the store: a path, a URL without its password.
  virtual const std::string& name() const = 0;
  virtual SchemaWords words() const = 0;

  /// Statements without parameters whose rows are of no interest.
  virtual Status Execute(const std::string& sql) = 0;
  virtual Result<StatementPtr> Prepare(const std::string& sql) = 0;
  virtual Result<bool> TableExists(std::string_view table) = 0;

  /// Begins a transaction that writes. Of those that write the same rows one waits for the other.
  virtual Status Begin() = 0;
  Status Commit() { return Execute("COMMIT"); }
  void Rollback() noexcept;
  /// Within a transaction: nobody else's holds `name` until it ends, and what follows sees all that they did.
  virtual Status Lock(std::string_view name) = 0;

  /// An error where a file was put in the place of the one that is open.
  virtual Status CheckSame() { return Status::Ok(); }

  /// The store's clock, on which its leases are told.
  virtual Result<StoreTime> Now() = 0;
  /// The largest arrival up to which no measurement is on its way in: behind it one may still come in between.
  virtual Result<int64_t> Settled() { return kAllSettled; }

  /// Whether what failed last may be done again from its beginning: the connection was lost (and was made again, once
  /// the server answered), or others were in the way. An error: the connection stays lost.
  virtual Result<bool> MayTryAgain() { return false; }
  /// That it was done, at last.
  virtual void Done() {}

  /// The first column of the first row; an error when there is no row.
  Result<int64_t> QueryInteger(const std::string& sql);
};

/// Connection::Begin until Commit; rolled back by the destructor otherwise.
class Transaction {
 public:
  static Result<Transaction> Begin(Connection& connection);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

/// How many of `left` rows a statement takes: a power of two up to 64, so that few statements are prepared, and kept.
size_t RowsAtOnce(size_t left);

/// "(?, ?), (?, ?)": so many rows of so many parameters.
std::string RowsOfParameters(size_t rows, int columns);

}  // namespace assay::samplestore
