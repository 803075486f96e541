#include "storage/gcs/session_chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "storage/gcs/gcs_json.h"
#include "storage/transfer/buffer_walk.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

/// "bytes 0-99/*", "bytes 0-99/100", or "bytes */100" for a last chunk without bytes.
std::string ContentRangeOf(int64_t begin, int64_t end, bool last) {
  const std::string total = last ? std::to_string(end) : "*";
  return begin == end ? fmt::format("bytes */{}", total) : fmt::format("bytes {}-{}/{}", begin, end - 1, total);
}

Pieces WithoutFirst(const Pieces& pieces, int64_t bytes) {
  BufferWalk walk(pieces);
  walk.Next(bytes);
  return walk.Next(std::numeric_limits<int64_t>::max());
}

Failure GoOn(bool progress) {
  Failure failure;
  failure.kind = FailureClass::kAgain;
  failure.counts_anew = progress;
  return failure;
}

}  // namespace

int64_t CommittedOf(const http::Response& answer) {
  // "Range: bytes=0-99"
  const std::string_view range = answer.headers.Find("range").value_or("");
  const size_t dash = range.rfind('-');
  const auto last = dash == std::string_view::npos ? std::nullopt : ParseCount(range.substr(dash + 1));
  return last ? *last + (*last < std::numeric_limits<int64_t>::max() ? 1 : 0) : 0;
}

void SessionChunkCall::Prepare(Attempt& attempt) {
  Outgoing& outgoing = attempt.outgoing;
  outgoing.is_signed = false;
  outgoing.request.method = "PUT";
  outgoing.request.url = chunk_.url;
  // Unless this attempt is answered, nobody knows what the service has.
  asks_ = std::exchange(must_ask_, true);
  if (asks_) {
    outgoing.request.headers.Add("Content-Range", "bytes */*");
    return;
  }
  outgoing.request.body = WithoutFirst(chunk_.pieces, chunk_.sent - chunk_.begin);
  outgoing.request.headers.Add("Content-Range", ContentRangeOf(chunk_.sent, chunk_.end, chunk_.last));
  if (chunk_.last) {
    outgoing.request.headers.Add("x-goog-hash", "crc32c=" + chunk_.whole.Base64());
  }
}

std::optional<Failure> SessionChunkCall::Accept(Attempt&, http::Response& response) {
  if (response.status == kResumeIncomplete) {
    return TakeCommitted(CommittedOf(response));
  }
  chunk_.object = ParseGcsObject(key_, response.body);
  return chunk_.object ? std::nullopt : std::optional(UnreadableAnswer(response));
}

std::optional<Failure> SessionChunkCall::TakeCommitted(int64_t committed) {
  if (committed < chunk_.begin || committed > chunk_.end) {
    Failure failure = MakeFailure(FailureClass::kPermanent, ErrorCode::kIo,
                                  fmt::format("the store has {} bytes of it, of which {} to {} were sent last",
                                              committed, chunk_.begin, chunk_.end));
    failure.advice = "write it again";
    return failure;
  }
  if (progress_ && committed > chunk_.sent) {
    progress_(committed - chunk_.sent);
  }
  chunk_.sent = committed;
  if (committed == chunk_.end && !chunk_.last) {
    return std::nullopt;
  }
  const bool more = committed > most_;
  most_ = std::max(most_, committed);
  if (!asks_ && !more) {
    // A service that takes requests and keeps nothing of them fails as well.
    return MakeFailure(FailureClass::kServer, ErrorCode::kIo, "the store keeps none of the bytes sent");
  }
  must_ask_ = false;
  return GoOn(more);
}

}  // namespace assay::storage
