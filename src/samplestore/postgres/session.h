// One session with a PostgreSQL server: libpq's C API as types that clean up after themselves.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/postgres/address.h"

struct pg_conn;
struct pg_result;

namespace assay::samplestore {

struct ClearResult {
  void operator()(pg_result* result) const;
};
using PostgresResult = std::unique_ptr<pg_result, ClearResult>;

/// A parameter as it is sent: text, or bytes as they are.
struct PostgresParameter {
  std::string value;
  bool is_bytes = false;
};

/// What failed, beside its message: whether it may be done again.
enum class PostgresFailure {
  kNone,
  kLost,      ///< the session is over
  kConflict,  ///< others were in the way, as in a deadlock
  kLocked,    ///< a lock was not had in time
  kOther,
};

class PostgresSession {
 public:
  /// Connects. An error says why it cannot, with what to do.
  static Result<std::unique_ptr<PostgresSession>> Open(const PostgresAddress& address);
  ~PostgresSession();
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  /// Statements without parameters, one after another.
  Status Execute(const std::string& sql);
  /// Parses and plans `sql`, whose parameters are $1, $2, ..., under `name`.
  Status Prepare(const std::string& name, const std::string& sql);
  /// The rows of a prepared statement, their values in binary form.
  Result<PostgresResult> Run(const std::string& name, const std::vector<PostgresParameter>& parameters);

  /// What failed since this was asked last; kLost, once lost.
  PostgresFailure TakeFailure();

 private:
  explicit PostgresSession(std::string name) : name_(std::move(name)) {}
  Status Check(const pg_result* result);

  std::string name_;
  pg_conn* handle_ = nullptr;
  PostgresFailure failure_ = PostgresFailure::kNone;
};

}  // namespace assay::samplestore
