#include "samplestore/sql/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace assay::samplestore {

Status Statement::Run() {
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, Step());
  }
  return Status::Ok();
}

void Connection::Rollback() noexcept {
  // A failure here means that the database has rolled back already.
  static_cast<void>(Execute("ROLLBACK"));
}

Result<int64_t> Connection::QueryInteger(const std::string& sql) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr statement, Prepare(sql));
  ASSAY_ASSIGN_OR_RETURN(const bool found, statement->Step());
  if (!found) {
    return Status::Internal(fmt::format("store {}: no row for {}", name(), sql));
  }
  return statement->Integer(0);
}

Result<Transaction> Transaction::Begin(Connection& connection) {
  ASSAY_RETURN_IF_ERROR(connection.Begin());
  return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
  if (connection_ != nullptr) {
    connection_->Rollback();
  }
}

Status Transaction::Commit() {
  ASSAY_RETURN_IF_ERROR(connection_->Commit());
  connection_ = nullptr;
  return Status::Ok();
}

size_t RowsAtOnce(size_t left) {
  constexpr size_t kMost = 64;
  return std::bit_floor(std::min(left, kMost));
}

std::string RowsOfParameters(size_t rows, int columns) {
  std::string row = "(?";
  for (int i = 1; i < columns; ++i) {
    row += ", ?";
  }
  row += ")";
  std::string text = row;
  for (size_t i = 1; i < rows; ++i) {
    text += ", " + row;
  }
  return text;
}

}  // namespace assay::samplestore
