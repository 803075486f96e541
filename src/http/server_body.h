// The receiving side of one request: takes the body off the wire, whatever its framing, and hands it to the exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/server.h"
#include "http/server_chunked.h"

namespace assay::http {

/// Belongs to one connection.
class BodyReceiver {
 public:
  enum class State { kNeedMore, kDone, kError };

  /// Begins the body that `head` announces.
  void Begin(const RequestHead& head);
  /// Who gets the body, and must outlive it; null: it is read and dropped.
  void DeliverTo(Exchange* exchange);

  /// Memory that the socket may fill directly; empty when framing is due, which goes through Feed().
  std::span<std::byte> DirectMemory();
  /// `count` bytes came into what DirectMemory() gave.
  void Received(size_t count);
  /// Takes bytes that were received elsewhere; returns how many belonged to this body.
  size_t Feed(std::string_view bytes);

  State state() const;
  /// What is still to come of a body whose size was announced; 0 where only the end will tell.
  int64_t announced_bytes() const { return chunked_ ? 0 : remaining_; }
  const std::string& error() const { return decoder_.error(); }
  const Headers& trailers() const { return decoder_.trailers(); }
  int64_t total_bytes() const { return total_bytes_; }

 private:
  int64_t data_remaining() const { return chunked_ ? decoder_.data_remaining() : remaining_; }
  void Consumed(size_t count);
  size_t Copy(std::string_view bytes);

  Exchange* exchange_ = nullptr;
  bool discard_ = false;
  bool chunked_ = false;
  int64_t remaining_ = 0;
  int64_t total_bytes_ = 0;
  ChunkedDecoder decoder_;
};

}  // namespace assay::http
