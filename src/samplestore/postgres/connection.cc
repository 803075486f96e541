#include "samplestore/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace assay::samplestore {
namespace {

constexpr Oid kBool = 16;
constexpr Oid kInt4 = 23;
constexpr int kMostConflicts = 20;  ///< one after another, before it is an error

/// Of advisory locks. Each transaction that writes holds one, shared, of a number of 64 bits: 15 bits of the schema,
/// and then the newest arrival that was given before the transaction began, or a smaller one. What it adds has a larger
/// one.
constexpr int kArrivalBits = 48;

/// The first bits of a hash.
uint64_t HashOf(std::string_view text) {
  constexpr size_t kHexOf60Bits = 15;
  constexpr int kHexadecimal = 16;
  return std::stoull(Sha256Hex(text).substr(0, kHexOf60Bits), nullptr, kHexadecimal);
}

int64_t SchemaBits(const std::string& schema) {
  constexpr uint64_t kMask = 0x7fff;
  return static_cast<int64_t>(HashOf(schema) & kMask);
}

constexpr char kNewestArrival[] =
    "(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM measurements_arrival_seq)";

/// "a = ? AND b = ?" to "a = $1 AND b = $2". No text of ours has a question mark in it.
std::string WithNumbers(const std::string& sql) {
  std::string numbered;
  int number = 0;
  for (const char c : sql) {
    numbered += c == '?' ? fmt::format("${}", ++number) : std::string(1, c);
  }
  return numbered;
}

/// `bytes`, in network order.
uint64_t BigEndian(const char* bytes, int length) {
  uint64_t value = 0;
  for (int i = 0; i < length; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

class PostgresStatement : public Statement {
 public:
  PostgresStatement(PostgresSession& session, const std::string& name) : session_(session), name_(name) {}

  Statement& Bind(std::string_view text) override { return Add(std::string(text), false); }
  Statement& Bind(int64_t number) override { return Add(std::to_string(number), false); }
  Statement& Bind(double number) override { return Add(fmt::format("{}", number), false); }
  Statement& BindBytes(std::string_view bytes) override { return Add(std::string(bytes), true); }

  Result<bool> Step() override {
    if (!result_) {
      ASSAY_ASSIGN_OR_RETURN(result_, session_.Run(name_, parameters_));
    }
    ++row_;
    return row_ < PQntuples(result_.get());
  }

  std::string_view Text(int column) const override { return Bytes(column); }
  std::string_view Bytes(int column) const override {
    return {PQgetvalue(result_.get(), row_, column), static_cast<size_t>(PQgetlength(result_.get(), row_, column))};
  }
  int64_t Integer(int column) const override {
    const std::string_view bytes = Bytes(column);
    const uint64_t value = BigEndian(bytes.data(), static_cast<int>(bytes.size()));
    switch (PQftype(result_.get(), column)) {
      case kBool:
      case kInt4:
        return static_cast<int32_t>(value);
      default:
        return static_cast<int64_t>(value);
    }
  }
  double Number(int column) const override {
    const std::string_view bytes = Bytes(column);
    return bytes.empty() ? 0 : std::bit_cast<double>(BigEndian(bytes.data(), static_cast<int>(bytes.size())));
  }

 private:
  Statement& Add(std::string value, bool is_bytes) {
    parameters_.push_back({std::move(value), is_bytes});
    return *this;
  }

  PostgresSession& session_;
  const std::string& name_;
  std::vector<PostgresParameter> parameters_;
  PostgresResult result_;
  int row_ = -1;
};

}  // namespace

PostgresConnection::PostgresConnection(PostgresAddress address, StoreAccess access, StoreOptions options)
    : address_(std::move(address)), access_(access), options_(std::move(options)) {}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(PostgresAddress address, StoreAccess access,
                                                                     StoreOptions options) {
  std::unique_ptr<PostgresConnection> connection(
      new PostgresConnection(std::move(address), access, std::move(options)));
  ASSAY_RETURN_IF_ERROR(connection->Connect());
  return connection;
}

Status PostgresConnection::Connect() {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<PostgresSession> session, PostgresSession::Open(address_));
  // Who writes waits for others that write; a reader waits for who has the whole of it alone.
  constexpr double kLongestWriterLockSeconds = 60;
  const bool is_reader = access_ == StoreAccess::kReadOnly;
  const double lock_seconds = is_reader ? options_.longest_lock_seconds : kLongestWriterLockSeconds;
  // A client that was stopped within a transaction must not hold what others wait for.
  ASSAY_RETURN_IF_ERROR(session->Execute(fmt::format(
      "SET search_path TO {}; SET idle_in_transaction_session_timeout = '20s'; SET lock_timeout = {}; "
      "SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = {}",
      QuotedName(address_.schema), std::max(1, static_cast<int>(1000 * lock_seconds)), is_reader ? "on" : "off")));
  prepared_.clear();
  session_ = std::move(session);
  return Status::Ok();
}

SchemaWords PostgresConnection::words() const {
  static constexpr char kCounted[] = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY";
  return {.arrival = kCounted, .id = kCounted, .given_id = "BIGINT PRIMARY KEY", .by_key = ""};
}

Result<StatementPtr> PostgresConnection::Prepare(const std::string& sql) {
  auto entry = prepared_.find(sql);
  if (entry == prepared_.end()) {
    const std::string name = fmt::format("s{}", prepared_.size());
    ASSAY_RETURN_IF_ERROR(session_->Prepare(name, WithNumbers(sql)));
    entry = prepared_.emplace(sql, name).first;
  }
  return StatementPtr(new PostgresStatement(*session_, entry->second));
}

Result<bool> PostgresConnection::TableExists(std::string_view table) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         Prepare("SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = ?"));
  return select->Bind(std::string_view(address_.schema)).Bind(table).Step();
}

Status PostgresConnection::Begin() {
  return Execute(fmt::format("BEGIN; SELECT pg_advisory_xact_lock_shared({} + {})",
                             SchemaBits(address_.schema) << kArrivalBits, kNewestArrival));
}

Status PostgresConnection::Lock(std::string_view lock) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr statement, Prepare("SELECT pg_advisory_xact_lock(?::int4, ?::int4)"));
  return statement->Bind(SchemaBits(address_.schema)).Bind(int64_t{static_cast<int32_t>(HashOf(lock))}).Run();
}

Result<StoreTime> PostgresConnection::Now() {
  if (options_.clock) {
    return StoreTime{.epoch = options_.clock->epoch, .seconds = options_.clock->seconds()};
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select, Prepare("SELECT extract(epoch FROM clock_timestamp())::float8, "
                                                            "extract(epoch FROM pg_postmaster_start_time())::float8"));
  ASSAY_RETURN_IF_ERROR(select->Step().status());
  return StoreTime{.epoch = "server", .seconds = select->Number(0), .reachable_since = select->Number(1)};
}

Result<int64_t> PostgresConnection::Settled() {
  // First the newest, then who writes: who begins in between adds what is newer.
  ASSAY_ASSIGN_OR_RETURN(const int64_t newest, QueryInteger(std::string("SELECT ") + kNewestArrival));
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr writers,
      Prepare("SELECT coalesce(min((classid::int8 << 32 | objid::int8) & ?::int8), ?::int8) FROM pg_locks WHERE "
              "locktype = 'advisory' AND objsubid = 1 AND classid::int8 >> 16 = ?::int8 AND "
              "database = (SELECT oid FROM pg_database WHERE datname = current_database())"));
  writers->Bind((int64_t{1} << kArrivalBits) - 1).Bind(newest).Bind(SchemaBits(address_.schema));
  ASSAY_RETURN_IF_ERROR(writers->Step().status());
  return std::min(newest, writers->Integer(0));
}

void PostgresConnection::Tell(const std::string& text) const {
  if (options_.on_outage) {
    options_.on_outage(text);
  }
}

Result<bool> PostgresConnection::MayTryAgain() {
  switch (session_->TakeFailure()) {
    case PostgresFailure::kLost:
      return WaitForServer();
    case PostgresFailure::kLocked:
      if (access_ == StoreAccess::kReadOnly) {
        break;
      }
      [[fallthrough]];
    case PostgresFailure::kConflict:
      if (++conflicts_ <= kMostConflicts) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * conflicts_));
        return true;
      }
      break;
    case PostgresFailure::kNone:
    case PostgresFailure::kOther:
      break;
  }
  conflicts_ = 0;
  return false;
}

Result<bool> PostgresConnection::WaitForServer() {
  constexpr auto kFirstPause = std::chrono::milliseconds(100);
  constexpr auto kLongestPause = std::chrono::milliseconds(2000);
  const double start = MonotonicSeconds();
  Tell(fmt::format("the server of store {} went away: waiting for it", name()));
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const Status status = Connect();
    if (status.ok()) {
      Tell(fmt::format("the server of store {} is back after {}", name(), FormatSeconds(MonotonicSeconds() - start)));
      return true;
    }
    if (InterruptRequested()) {
      return Status::Aborted(fmt::format("interrupted while the server of store {} was away", name()));
    }
    if (MonotonicSeconds() - start > options_.longest_outage_seconds) {
      return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace assay::samplestore
