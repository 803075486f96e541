// Bytes over a connected socket, in the clear or by TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/file_descriptor.h"

namespace assay::http {

/// Never blocks. Belongs to one thread.
class Channel {
 public:
  enum class Outcome {
    kMoved,       ///< `bytes` of them, one at least
    kWantRead,    ///< nothing before the socket can be read
    kWantWrite,   ///< nothing before it can be written
    kClosed,      ///< the peer has said that nothing more comes
    kBroken,      ///< the connection is lost; error() says how
    kUnreadable,  ///< what is to be sent is no memory that can be read, as of a mapped file that was cut short
    kRefused,     ///< the peer is not who it should be, or speaks no TLS that we do; error() says why
  };
  struct Step {
    Outcome outcome = Outcome::kMoved;
    size_t bytes = 0;
  };

  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// What comes before the first byte; called until it is kMoved.
  virtual Step Greet() { return {}; }
  virtual Step Receive(std::span<std::byte> into) = 0;
  /// What is sent one piece after the other.
  using Pieces = std::span<const std::span<const std::byte>>;
  /// `more`: other bytes follow at once. After kWantWrite the same bytes are offered again, or they and others.
  virtual Step Send(Pieces pieces, bool more) = 0;
  /// Likewise `count` bytes of a file. kMoved with 0 bytes: it has none there.
  virtual Step SendFile(int file, int64_t offset, size_t count) = 0;
  /// Says that nothing more will be sent.
  virtual void HangUp() = 0;
  /// Bytes have come that the socket does not tell of any more.
  virtual bool holds_received() const { return false; }

  int socket() const { return socket_.get(); }
  const std::string& error() const { return error_; }

 protected:
  Step Fail(Outcome outcome, std::string error) {
    error_ = std::move(error);
    return {outcome, 0};
  }

 private:
  const FileDescriptor socket_;
  std::string error_;
};

class PlainChannel : public Channel {
 public:
  using Channel::Channel;
  Step Receive(std::span<std::byte> into) override;
  Step Send(Pieces pieces, bool more) override;
  Step SendFile(int file, int64_t offset, size_t count) override;
  void HangUp() override;

 private:
  Step StepOf(ssize_t count, Outcome would_block);
};

}  // namespace assay::http
