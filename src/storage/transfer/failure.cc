#include "storage/transfer/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "base/terminal.h"
#include "storage/auth/time_format.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

struct ClassRow {
  FailureClass kind;
  std::string_view name;
  std::string_view advice;
};

constexpr ClassRow kClasses[] = {
    {FailureClass::kThrottle, "throttled",
     "lower the number of connections, spread the keys over prefixes, or try later"},
    {FailureClass::kServer, "server error", "the store is in trouble: try later"},
    {FailureClass::kConnect, "no connection", "check the endpoint, the region and the proxy"},
    {FailureClass::kReset, "connection lost", "check the network and the proxy, or try later"},
    {FailureClass::kTimeout, "timeout", "check the network, or raise the timeouts"},
    {FailureClass::kStall, "stalled", "check the network, or raise the stall timeout"},
    {FailureClass::kExpired, "expired credentials", "log in again, or give fresh credentials"},
    {FailureClass::kClockSkew, "clock skew", "set this machine's clock"},
    {FailureClass::kCorrupt, "corrupt data",
     "something between here and the store changes bytes: check the proxy and the memory"},
    {FailureClass::kDamaged, "damaged object", "read it again, then write it again or remove it"},
    {FailureClass::kInvalidPart, "changed part", "begin the write anew"},
    {FailureClass::kAgain, "unfinished", "try again"},
    {FailureClass::kBusy, "conflicting operation", "let the other operation on this key end first"},
    {FailureClass::kMissing, "not found", "check the bucket and the key"},
    {FailureClass::kPrecondition, "precondition failed", "the object is not as expected: read it again and decide"},
    {FailureClass::kDenied, "access denied", "check the credentials and what they are allowed to do"},
    {FailureClass::kPermanent, "refused", ""},
};

const ClassRow& RowOf(FailureClass kind) {
  return *std::find_if(std::begin(kClasses), std::end(kClasses),
                       [kind](const ClassRow& row) { return row.kind == kind; });
}

struct StatusRow {
  int http_status;
  FailureClass kind;
  ErrorCode code;
  std::string_view advice = "";  ///< empty: what is usual for the class
};

constexpr StatusRow kStatuses[] = {
    {304, FailureClass::kPrecondition, ErrorCode::kFailedPrecondition},
    {400, FailureClass::kPermanent, ErrorCode::kInvalidArgument},
    {401, FailureClass::kDenied, ErrorCode::kPermissionDenied},
    {403, FailureClass::kDenied, ErrorCode::kPermissionDenied},
    {404, FailureClass::kMissing, ErrorCode::kNotFound},
    {405, FailureClass::kPermanent, ErrorCode::kUnsupported},
    {407, FailureClass::kDenied, ErrorCode::kPermissionDenied,
     "the proxy wants to know who asks: write it as http://user:password@host:port"},
    {408, FailureClass::kTimeout, ErrorCode::kIo},
    {409, FailureClass::kPermanent, ErrorCode::kFailedPrecondition},
    {412, FailureClass::kPrecondition, ErrorCode::kFailedPrecondition},
    {416, FailureClass::kPermanent, ErrorCode::kInvalidArgument},
    {429, FailureClass::kThrottle, ErrorCode::kIo},
    {501, FailureClass::kPermanent, ErrorCode::kUnsupported},
};

struct TransportRow {
  http::TransportError error;
  FailureClass kind;
};

constexpr TransportRow kTransport[] = {
    {http::TransportError::kResolve, FailureClass::kConnect},
    {http::TransportError::kConnect, FailureClass::kConnect},
    {http::TransportError::kConnectTimeout, FailureClass::kTimeout},
    {http::TransportError::kReset, FailureClass::kReset},
    {http::TransportError::kTruncated, FailureClass::kReset},
    {http::TransportError::kStall, FailureClass::kStall},
    {http::TransportError::kTimeout, FailureClass::kTimeout},
    {http::TransportError::kProtocol, FailureClass::kReset},
    {http::TransportError::kRejected, FailureClass::kReset},
};

std::string What(const Failure& failure) {
  std::string what = failure.http_status == 0 ? "" : std::to_string(failure.http_status);
  for (const std::string& part : {failure.store_code, failure.message}) {
    if (!part.empty()) {
      what += (what.empty() ? "" : part == failure.store_code ? " " : ": ") + part;
    }
  }
  return what.empty() ? std::string(NameOf(failure.kind)) : what;
}

/// Of "40", or of "Sat, 31 Jan 2026 12:00:00 GMT" in an answer of that `date`.
double RetryAfterSeconds(std::string_view value, std::string_view date) {
  const bool digits =
      !value.empty() && std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digits) {
    const auto seconds = ParseCount(value);
    return seconds ? static_cast<double>(*seconds) : std::numeric_limits<double>::infinity();
  }
  const std::optional<double> until = ParseHttpDate(value);
  const std::optional<double> now = ParseHttpDate(date);
  return until ? std::max(0.0, *until - now.value_or(WallClockSeconds())) : 0;
}

std::string AdviceOf(const Failure& failure) {
  if (failure.retry_after_seconds > kMaxRetryAfterSeconds) {
    return fmt::format("the store asks to wait {:.0f} s, and no more than {:.0f} s are waited: try again then",
                       failure.retry_after_seconds, kMaxRetryAfterSeconds);
  }
  return failure.advice.empty() ? std::string(RowOf(failure.kind).advice) : failure.advice;
}

}  // namespace

std::string_view NameOf(FailureClass kind) {
  return RowOf(kind).name;
}

Failure FailureOfStatus(int http_status) {
  Failure failure;
  failure.http_status = http_status;
  for (const StatusRow& row : kStatuses) {
    if (row.http_status == http_status) {
      failure.kind = row.kind;
      failure.code = row.code;
      failure.advice = row.advice;
      return failure;
    }
  }
  failure.kind = http_status >= 500 ? FailureClass::kServer : FailureClass::kPermanent;
  failure.code = http_status >= 500 ? ErrorCode::kIo : ErrorCode::kInvalidArgument;
  return failure;
}

bool IsRefusal(const Failure& failure) {
  const bool lasting = failure.kind == FailureClass::kDenied || failure.kind == FailureClass::kMissing ||
                       failure.kind == FailureClass::kPrecondition || failure.kind == FailureClass::kPermanent;
  return failure.http_status >= 400 && lasting;
}

Failure FailureOfTransport(const http::Outcome& outcome) {
  Failure failure;
  failure.code = ErrorCode::kIo;
  failure.message = fmt::format("{} ({})", http::NameOf(outcome.error), outcome.detail);
  for (const TransportRow& row : kTransport) {
    if (row.error == outcome.error) {
      failure.kind = row.kind;
      return failure;
    }
  }
  if (outcome.error == http::TransportError::kProxy) {
    failure.code = ErrorCode::kInvalidArgument;
    failure.advice = "write the proxy as http://host:port (also https, socks4, socks4a, socks5, socks5h)";
  } else if (outcome.error == http::TransportError::kTooLarge) {
    failure.advice = "check that the endpoint is a store's";
  } else if (outcome.error == http::TransportError::kUnsendable) {
    failure.code = ErrorCode::kInvalidArgument;
  } else if (outcome.error == http::TransportError::kTls) {
    failure.advice = "check the endpoint's certificate, name a CA file, or turn verification off for a test";
  }
  return failure;
}

void TakeStoreError(std::string_view code, std::string_view message, std::span<const StoreCodeRow> rows,
                    Failure& failure) {
  failure.store_code = code;
  failure.message = message;
  const auto row = std::ranges::find(rows, code, &StoreCodeRow::code);
  if (row != rows.end()) {
    failure.kind = row->kind;
    failure.code = row->error;
    failure.advice = row->advice;
  }
}

void TakeHeaders(const http::Response& answer, std::string_view request_id, Failure& failure) {
  failure.request_id = answer.headers.Find(request_id).value_or("");
  failure.date = answer.headers.Find("date").value_or("");
  failure.retry_after_seconds = RetryAfterSeconds(answer.headers.Find("retry-after").value_or(""), failure.date);
}

Failure UnreadableAnswer(const http::Response& answer) {
  Failure failure = MakeFailure(FailureClass::kServer, ErrorCode::kIo,
                                "the answer is not what it should be: '" + answer.body.substr(0, 80) + "'");
  failure.http_status = answer.status;
  return failure;
}

Failure UnreadableAnswer(const http::Response& answer, const Status& why) {
  if (why.code() == ErrorCode::kIo) {
    return UnreadableAnswer(answer);
  }
  Failure failure =
      MakeFailure(FailureClass::kPermanent, ErrorCode::kIo, "the answer is not what it should be: " + why.message());
  failure.http_status = answer.status;
  failure.advice = "check the endpoint and the proxy: what this store says cannot be relied on";
  return failure;
}

Failure MakeFailure(FailureClass kind, ErrorCode code, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.code = code;
  failure.message = std::move(message);
  return failure;
}

Status DescribeFailure(std::string_view operation, std::string_view uri, const Failure& failure, int attempts) {
  std::string about;
  if (!failure.request_id.empty()) {
    about = "request " + failure.request_id;
  }
  if (attempts > 1) {
    about += fmt::format("{}{} attempts", about.empty() ? "" : ", ", attempts);
  }
  const std::string advice = AdviceOf(failure);
  // Codes, messages, regions and ids are the store's, keys are the user's: any may hold a newline.
  return {failure.code,
          OneLine(fmt::format("cannot {} {}: {}{}{}{}{}", operation, uri, What(failure), about.empty() ? "" : " (",
                              about, about.empty() ? "" : ")", advice.empty() ? "" : fmt::format("; {}", advice)))};
}

}  // namespace assay::storage
