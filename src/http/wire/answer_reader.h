// Reads one answer off a connection: its head, its framing, and where its bytes go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/answer.h"
#include "http/server_chunked.h"

namespace assay::http {

/// Source: RFC 9112. Refused: what is not HTTP/1.0 or 1.1, header lines that are none, lengths that contradict each
/// other, codings other than chunked. A length beside chunked counts for nothing, and the connection is not kept.
class AnswerReader {
 public:
  enum class State {
    kHead,
    kBody,
    kDone,
    kFailed,  ///< the transfer ends here; Answer::Conclude() says why, if it is not for Answer::read_enough()
  };

  explicit AnswerReader(Answer& answer) : answer_(answer) {}

  /// `head_only`: a HEAD is answered, whose body never comes.
  void Begin(bool head_only);

  /// Takes received bytes up to the end of the answer at most; returns how many it took.
  size_t Feed(std::string_view bytes, double now);
  /// Where the next bytes of the body can be received, `most` at most; empty: they go to Feed().
  std::span<std::byte> Memory(size_t most);
  /// The first `count` bytes of what Memory() gave last have come.
  void Filled(size_t count, double now);
  /// The peer sends nothing more; false where that is too soon.
  bool OnEnd();

  State state() const { return state_; }
  /// Bytes of a body that are still to come, where that is known; else 0.
  int64_t remaining_bytes() const { return framing_ == Framing::kLength && state_ == State::kBody ? remaining_ : 0; }
  /// After kDone: another request may follow.
  bool keeps_connection() const { return keep_alive_ && framing_ != Framing::kUntilClosed; }

 private:
  enum class Framing { kNone, kLength, kChunked, kUntilClosed };

  size_t FeedHead(std::string_view bytes, double now);
  size_t FeedBody(std::string_view bytes, double now);
  void OnLine(std::string_view line);
  void OnStatusLine(std::string_view line);
  void OnHeaderLine(std::string_view line);
  void OnHeadEnd();
  void ReadFraming();
  bool ReadLength();
  void Take(int64_t bytes);
  void End();
  void Refuse(const std::string& what);

  Answer& answer_;
  State state_ = State::kHead;
  std::string line_;  ///< the beginning of a line whose end has not come
  bool head_only_ = false;
  bool has_status_ = false;
  bool keep_alive_ = true;
  Framing framing_ = Framing::kNone;
  int64_t remaining_ = 0;
  ChunkedDecoder chunks_;
};

}  // namespace assay::http
