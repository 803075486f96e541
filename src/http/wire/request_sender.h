// Writes one request to a connection: its head, and its body from where that lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/body.h"
#include "http/channel.h"
#include "http/message.h"

namespace assay::http {

/// Belongs to one connection.
class RequestSender {
 public:
  enum class State {
    kSending,
    kDone,
    kRefused,  ///< the source does not give the body
  };

  /// `source` may be null; it and what it refers to must outlive the transfer. Host, User-Agent and Content-Length are
  /// added where `request` has none.
  void Begin(const Request& request, const Url& url, std::string_view user_agent, BodySource* source);
  /// Sends `most` bytes of the body or a little more, and says how the last piece went.
  Channel::Step Send(Channel& channel, size_t most);

  State state() const { return state_; }
  /// The head and a first piece of a large body, which is as much as a connection that is dead takes without a word.
  bool has_begun() const { return begun_; }

 private:
  Channel::Step SendPiece(Channel& channel, size_t most);
  Channel::Step SendPieces(Channel& channel, std::span<const std::byte> shown, size_t most);
  void FillBuffer(size_t most);
  void Advance(size_t count);

  BodySource* source_ = nullptr;
  std::vector<std::byte> buffer_;  ///< bytes that were copied: the head, small pieces
  size_t buffer_sent_ = 0;
  int64_t body_left_ = 0;  ///< of the source
  bool begun_ = false;
  State state_ = State::kDone;
};

}  // namespace assay::http
