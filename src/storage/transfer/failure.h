// What went wrong with one attempt of a request, whether another makes sense, and how people are told.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/client.h"

namespace assay::storage {

/// Decides whether and how soon a request is sent again.
enum class FailureClass {
  kThrottle,      ///< 429, 503 SlowDown: wait longer
  kServer,        ///< 500, 502, 503, 504, an internal error within a 200
  kConnect,       ///< refused or unknown host; a few times only
  kReset,         ///< the connection ended early, or the body was cut
  kTimeout,       ///< connect or total
  kStall,         ///< no byte moved
  kExpired,       ///< credentials ran out: refresh and send again
  kClockSkew,     ///< the store's clock differs: correct and send again
  kCorrupt,       ///< a checksum did not match, here or there; nothing was published
  kDamaged,       ///< what was published is not what was sent
  kInvalidPart,   ///< an upload holds other parts than the request that completes it names
  kAgain,         ///< nothing has failed: the answer leads to another request, which goes at once and is not counted
  kBusy,          ///< another operation on the same key is in progress (S3: 409 OperationAborted)
  kMissing,       ///< 404
  kPrecondition,  ///< 412, or what a store says in its place
  kDenied,        ///< 401, 403
  kPermanent,     ///< anything else: another attempt would end the same way
};
std::string_view NameOf(FailureClass kind);

/// A store that asks to wait longer than this is not waited for: the call fails at once and says so.
inline constexpr double kMaxRetryAfterSeconds = 120;

struct Failure {
  FailureClass kind = FailureClass::kPermanent;
  ErrorCode code = ErrorCode::kIo;
  int http_status = 0;     ///< 0: no answer came
  std::string store_code;  ///< "SlowDown"
  std::string message;     ///< the store's words, or the transport's
  std::string request_id;
  std::string advice;              ///< empty: what is usual for the class
  double retry_after_seconds = 0;  ///< the store asked to wait for so long; infinity for what no number holds
  std::string date;                ///< the answer's Date, for kClockSkew
  bool counts_anew = false;        ///< of kAgain: what failed before is over
};

/// The class that a status alone implies, with the error code that goes with it; for dialects to refine by the store's
/// code.
Failure FailureOfStatus(int http_status);
Failure FailureOfTransport(const http::Outcome& outcome);

/// Whether the store itself refuses: it answered, and will answer so again.
bool IsRefusal(const Failure& failure);

/// What a store's own code means.
struct StoreCodeRow {
  std::string_view code;
  FailureClass kind;
  ErrorCode error;
  std::string_view advice;  ///< empty: what is usual for the class
};
/// Takes the store's code and its words, and from the row of that code, where there is one, what they mean.
void TakeStoreError(std::string_view code, std::string_view message, std::span<const StoreCodeRow> rows,
                    Failure& failure);
/// Takes what every store says in its headers: Date, Retry-After (seconds, or a date of the store's clock), and the
/// request id under the name `request_id`.
void TakeHeaders(const http::Response& answer, std::string_view request_id, Failure& failure);
/// An answer of success with content that is none.
Failure UnreadableAnswer(const http::Response& answer);
/// Likewise where its reader said why. What is no such answer (ErrorCode::kIo) may come right next time; what
/// contradicts itself or the question (any other code) will not.
Failure UnreadableAnswer(const http::Response& answer, const Status& why);

/// For an answer that could not be understood, or memory that does not match.
Failure MakeFailure(FailureClass kind, ErrorCode code, std::string message);

/// One line: what was tried, on what, how often, what came back, what to do.
/// "cannot put part 3 of s3://b/k: 503 SlowDown: Please reduce your request rate (request 4ZX, 8 attempts): ..."
Status DescribeFailure(std::string_view operation, std::string_view uri, const Failure& failure, int attempts);

}  // namespace assay::storage
