// What has come of the answer to a transfer, and where it goes: the same for every engine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "http/engine.h"

namespace assay::http {

/// Belongs to one I/O thread. Every member that returns a bool says whether the transfer goes on; where it does not,
/// Conclude() says why.
class Answer {
 public:
  explicit Answer(Shared& shared);

  /// `sink` may be null. Not owned.
  void Begin(BodySink* sink);
  /// So many bytes of header lines have come, or 0 with some of the framing of chunks.
  bool CountHeader(size_t bytes, double now);
  /// An interim answer, or a proxy's, came before this one.
  void BeginHead(int status);
  void AddHeader(std::string_view name, std::string_view value) { response_.headers.Add(name, value); }

  /// Where the next bytes of the body can be received, `most` at most; empty: they go to TakeBody().
  std::span<std::byte> Memory(size_t most);
  /// The first `count` bytes of what Memory() gave last are body.
  bool Filled(size_t count, double now);
  bool TakeBody(std::span<const std::byte> chunk, double now);
  /// The body is whole.
  bool End();

  bool GiveUp(TransportError error, std::string detail);
  /// Of an error's text all that counts has come; the connection cannot be used again.
  bool read_enough() const { return read_enough_; }
  int status() const { return response_.status; }
  Response& response() { return response_; }
  /// True where the answer was refused or given up: writes that into `outcome`.
  bool Conclude(Outcome& outcome);

 private:
  bool goes_to_sink() const { return sink_ != nullptr && response_.status / 100 == 2; }
  bool CountBody(std::span<const std::byte> chunk, double now);
  /// Tells the sink of the headers, once; false when it refused.
  bool BeginSink();
  bool Keep(std::span<const std::byte> chunk);

  Shared& shared_;
  TrickleWatch trickle_;
  BodySink* sink_ = nullptr;
  std::span<std::byte> memory_;  ///< what Memory() gave last
  Response response_;
  Status sink_status_;
  bool sink_begun_ = false;
  TransportError given_up_ = TransportError::kNone;
  std::string given_up_detail_;
  bool read_enough_ = false;
  int64_t header_bytes_ = 0;
  double head_since_ = 0;  ///< the first byte of lines: a head's, or those between chunks or behind them; 0: none came
};

}  // namespace assay::http
