#include "http/server_stream.h"

#include <fmt/format.h>

#include <utility>

#include "http/server_response.h"

namespace assay::http {

void Waker::Set(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if (ready_) {
    Wake();
  }
}

void Waker::Wake() {
  ready_ = true;
  if (wake_) {
    wake_();
  }
}

bool ResponseStream::Write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_ || overflowed_) {
    return false;
  }
  if (waiting_.size() + bytes.size() > most_waiting_bytes_) {
    overflowed_ = true;
    waiting_.clear();
    Wake();
    return false;
  }
  waiting_ += bytes;
  Wake();
  return true;
}

void ResponseStream::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  Wake();
}

ResponseStream::Waiting ResponseStream::Take() {
  const std::lock_guard lock(mutex_);
  ready_ = closed_ || overflowed_;
  return {.bytes = std::exchange(waiting_, {}), .closed = closed_, .overflowed = overflowed_};
}

bool ResponseStream::overflowed() {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

void ResponseStream::Abandon() {
  Set(nullptr);
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waiting_.clear();
}

DeferredResponse::DeferredResponse() = default;
DeferredResponse::~DeferredResponse() = default;

void DeferredResponse::Set(ServerResponse response) {
  const std::lock_guard lock(mutex_);
  response_ = std::make_unique<ServerResponse>(std::move(response));
  Wake();
}

std::optional<ServerResponse> DeferredResponse::Take() {
  const std::lock_guard lock(mutex_);
  if (!response_) {
    return std::nullopt;
  }
  return std::move(*std::exchange(response_, nullptr));
}

std::string AsChunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace assay::http
