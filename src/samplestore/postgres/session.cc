#include "samplestore/postgres/session.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace assay::samplestore {
namespace {

struct ServerError {
  std::string_view state;  ///< an SQLSTATE, or the two characters of its class
  ErrorCode code;
  PostgresFailure failure;
  const char* advice;
};

// Of PostgreSQL's manual, appendix A. The first that fits counts.
constexpr ServerError kServerErrors[] = {
    {"40", ErrorCode::kIo, PostgresFailure::kConflict, "try again"},
    {"55P03", ErrorCode::kIo, PostgresFailure::kLocked,
     "another program has locked it: end that program, and try again"},
    {"57P", ErrorCode::kIo, PostgresFailure::kLost, "see whether the server runs"},
    {"08", ErrorCode::kIo, PostgresFailure::kLost, "see whether the server runs"},
    {"25P03", ErrorCode::kIo, PostgresFailure::kLost, "try again"},
    {"25006", ErrorCode::kPermissionDenied, PostgresFailure::kOther, "the store, or the server, can only be read"},
    {"42501", ErrorCode::kPermissionDenied, PostgresFailure::kOther, "ask its owner to grant that, or name another"},
    {"53100", ErrorCode::kIo, PostgresFailure::kOther, "free some space on the server's disk"},
    {"53", ErrorCode::kIo, PostgresFailure::kOther, "the server lacks what it takes: see its limits"},
    {"42P01", ErrorCode::kFailedPrecondition, PostgresFailure::kOther,
     "the store lacks a table: restore it from a copy, or name another schema"},
    {"", ErrorCode::kIo, PostgresFailure::kOther, "see the server's log"},
};

struct ConnectError {
  std::string_view text;
  ErrorCode code;
  const char* advice;
};

/// libpq gives no SQLSTATE of a connection that was refused.
constexpr ConnectError kConnectErrors[] = {
    {"password authentication failed", ErrorCode::kPermissionDenied,
     "check the user's password, in ~/.pgpass or PGPASSWORD"},
    {"no password supplied", ErrorCode::kPermissionDenied, "give one in ~/.pgpass or PGPASSWORD"},
    {"no pg_hba.conf entry", ErrorCode::kPermissionDenied, "the server does not let this machine or user in"},
    {"role \"", ErrorCode::kNotFound, "name a user that the server knows"},
    {"database \"", ErrorCode::kNotFound, "make it with createdb, or name another"},
    {"", ErrorCode::kIo, "check the address, and whether the server runs"},
};

std::string FirstLineOf(std::string_view text) {
  return std::string(Trim(text.substr(0, text.find('\n'))));
}

Status RefusedConnection(const pg_conn* handle, const std::string& name) {
  const std::string_view text = PQerrorMessage(handle);
  const ConnectError& error = *std::ranges::find_if(
      kConnectErrors, [&](const ConnectError& row) { return text.find(row.text) != std::string_view::npos; });
  return {error.code, fmt::format("cannot reach store {}: {} ({})", name, FirstLineOf(text), error.advice)};
}

void IgnoreNotice(void*, const char*) {}

}  // namespace

void ClearResult::operator()(pg_result* result) const {
  PQclear(result);
}

Result<std::unique_ptr<PostgresSession>> PostgresSession::Open(const PostgresAddress& address) {
  // What stands in the URL counts more than what stands before it.
  constexpr std::array kKeywords = {"connect_timeout",
                                    "application_name",
                                    "client_encoding",
                                    "keepalives_idle",
                                    "tcp_user_timeout",
                                    "dbname",
                                    static_cast<const char*>(nullptr)};
  const std::array<const char*, kKeywords.size()> values = {
      "10", "assay", "UTF8", "10", "30000", address.connection.c_str(), nullptr};
  std::unique_ptr<PostgresSession> session(new PostgresSession(address.name));
  session->handle_ = PQconnectdbParams(kKeywords.data(), values.data(), /*expand_dbname=*/1);
  if (PQstatus(session->handle_) != CONNECTION_OK) {
    return RefusedConnection(session->handle_, address.name);
  }
  PQsetNoticeProcessor(session->handle_, &IgnoreNotice, nullptr);
  return session;
}

PostgresSession::~PostgresSession() {
  PQfinish(handle_);
}

Status PostgresSession::Check(const pg_result* result) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
    return Status::Ok();
  }
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string_view sql_state = state == nullptr ? "" : state;
  const ServerError& error =
      *std::ranges::find_if(kServerErrors, [&](const ServerError& row) { return sql_state.starts_with(row.state); });
  failure_ = PQstatus(handle_) == CONNECTION_BAD ? PostgresFailure::kLost : error.failure;
  const char* advice = failure_ == PostgresFailure::kLost ? "see whether the server runs" : error.advice;
  return {error.code, fmt::format("store {}: {} ({})", name_,
                                  text == nullptr ? FirstLineOf(PQerrorMessage(handle_)) : text, advice)};
}

PostgresFailure PostgresSession::TakeFailure() {
  return PQstatus(handle_) == CONNECTION_BAD ? PostgresFailure::kLost : std::exchange(failure_, PostgresFailure::kNone);
}

Status PostgresSession::Execute(const std::string& sql) {
  const PostgresResult result(PQexec(handle_, sql.c_str()));
  return Check(result.get());
}

Status PostgresSession::Prepare(const std::string& name, const std::string& sql) {
  const PostgresResult result(PQprepare(handle_, name.c_str(), sql.c_str(), 0, nullptr));
  return Check(result.get());
}

Result<PostgresResult> PostgresSession::Run(const std::string& name, const std::vector<PostgresParameter>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const PostgresParameter& parameter : parameters) {
    values.push_back(parameter.value.c_str());
    lengths.push_back(static_cast<int>(parameter.value.size()));
    formats.push_back(parameter.is_bytes ? 1 : 0);
  }
  constexpr int kBinary = 1;
  PostgresResult result(PQexecPrepared(handle_, name.c_str(), static_cast<int>(parameters.size()), values.data(),
                                       lengths.data(), formats.data(), kBinary));
  ASSAY_RETURN_IF_ERROR(Check(result.get()));
  return result;
}

}  // namespace assay::samplestore
