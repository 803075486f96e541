// Where the bytes of a request come from and where those of an answer go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "http/message.h"

namespace assay::http {

/// Sees the bytes of a body in order, each once, while they are in cache: for checksums and progress.
using ChunkHook = std::function<void(std::span<const std::byte>)>;

/// Takes the body of a 2xx answer, piece by piece, on an I/O thread of the client. An answer of any other status goes
/// to Response::body instead, and the sink is not called. Once the transfer's callback has run it is not touched again.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// The headers are there, no byte of the body is. An error ends the transfer with TransportError::kRejected.
  virtual Status Begin(const Response& head) { return Status::Ok(); }
  virtual Status Consume(std::span<const std::byte> chunk) = 0;
  /// After Begin(): memory where the next bytes of the body belong, `most` at most, which may be received there and
  /// told with Filled() in place of Consume(). Empty: there is none, or not for the next byte.
  virtual std::span<std::byte> Memory(size_t most) { return {}; }
  /// The first `count` bytes of what Memory() gave last have come.
  virtual Status Filled(size_t count) { return Status::Ok(); }
  /// The answer is complete. Called even for an empty body.
  virtual Status End() { return Status::Ok(); }
};

/// Fills memory exactly: a byte more or fewer is an error.
class MemorySink : public BodySink {
 public:
  MemorySink() = default;
  explicit MemorySink(std::span<std::byte> memory, ChunkHook hook = nullptr)
      : memory_(memory), hook_(std::move(hook)) {}

  Status Consume(std::span<const std::byte> chunk) override;
  std::span<std::byte> Memory(size_t most) override;
  Status Filled(size_t count) override;
  Status End() override;
  int64_t received() const { return static_cast<int64_t>(received_); }

 protected:
  /// Names the memory when Begin() knows how much it must be.
  void SetMemory(std::span<std::byte> memory) { memory_ = memory; }
  void SetHook(ChunkHook hook) { hook_ = std::move(hook); }

 private:
  std::span<std::byte> memory_;
  ChunkHook hook_;
  size_t received_ = 0;
};

/// Gives the body of a request, in place of Request::body. Called on the I/O thread.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Known before the first byte: it becomes Content-Length.
  virtual int64_t bytes() const = 0;
  /// In place of a number of bytes: the body cannot be given, and the transfer ends with TransportError::kRejected.
  static constexpr size_t kRefused = SIZE_MAX;
  /// Fills `out` from its front and returns how much; 0 only at the end.
  virtual size_t Read(std::span<std::byte> out) = 0;
  /// At most `most` of the next bytes, where they lie: for who sends them without a copy. Empty or short where Read()
  /// is the way to them, as it always is to the last byte.
  virtual std::span<const std::byte> Peek(size_t most) const { return {}; }
  /// The first `count` bytes of what Peek() gave are sent.
  virtual void Skip(size_t count) {}
  /// Back to the first byte: a kept connection turned out to be dead, and the request is sent again on a new one.
  virtual void Rewind() = 0;
};

/// The concatenation of pieces that lie elsewhere.
class SpanSource : public BodySource {
 public:
  explicit SpanSource(std::vector<std::span<const std::byte>> pieces, ChunkHook hook = nullptr);

  int64_t bytes() const override { return bytes_; }
  size_t Read(std::span<std::byte> out) override;
  std::span<const std::byte> Peek(size_t most) const override;
  void Skip(size_t count) override;
  void Rewind() override;

 private:
  void Advance(size_t count);

  std::vector<std::span<const std::byte>> pieces_;
  ChunkHook hook_;
  int64_t bytes_ = 0;
  size_t piece_ = 0;
  size_t offset_ = 0;     ///< within the piece
  int64_t position_ = 0;  ///< within all of them
};

}  // namespace assay::http
