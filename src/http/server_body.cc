#include "http/server_body.h"

#include <algorithm>
#include <cstring>

namespace assay::http {
namespace {

// Small enough for checksums to find the bytes still in the cache, large enough for few system calls.
constexpr int64_t kReceiveBytes = 256 << 10;

}  // namespace

void BodyReceiver::Begin(const RequestHead& head) {
  chunked_ = head.chunked;
  remaining_ = head.content_length.value_or(0);
  total_bytes_ = 0;
  decoder_ = ChunkedDecoder();
}

void BodyReceiver::DeliverTo(Exchange* exchange) {
  exchange_ = exchange;
  discard_ = exchange == nullptr;
}

BodyReceiver::State BodyReceiver::state() const {
  if (!chunked_) {
    return remaining_ == 0 ? State::kDone : State::kNeedMore;
  }
  switch (decoder_.state()) {
    case ChunkedDecoder::State::kDone:
      return State::kDone;
    case ChunkedDecoder::State::kError:
      return State::kError;
    case ChunkedDecoder::State::kNeedMore:
      break;
  }
  return State::kNeedMore;
}

std::span<std::byte> BodyReceiver::DirectMemory() {
  if (data_remaining() == 0 || discard_) {
    return {};
  }
  const auto most = static_cast<size_t>(std::min(data_remaining(), kReceiveBytes));
  const std::span<std::byte> memory = exchange_->BodyMemory(most);
  discard_ = memory.empty();
  return memory.first(std::min(memory.size(), most));
}

void BodyReceiver::Received(size_t count) {
  exchange_->BodyReceived(count);
  Consumed(count);
}

size_t BodyReceiver::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && state() == State::kNeedMore) {
    const std::string_view rest = bytes.substr(taken);
    taken += data_remaining() > 0 ? Copy(rest) : decoder_.FeedFraming(rest);
  }
  return taken;
}

size_t BodyReceiver::Copy(std::string_view bytes) {
  const std::span<std::byte> memory = DirectMemory();
  if (discard_) {
    const auto dropped = static_cast<size_t>(std::min<int64_t>(data_remaining(), bytes.size()));
    Consumed(dropped);
    return dropped;
  }
  const size_t count = std::min(memory.size(), bytes.size());
  std::memcpy(memory.data(), bytes.data(), count);
  Received(count);
  return count;
}

void BodyReceiver::Consumed(size_t count) {
  total_bytes_ += static_cast<int64_t>(count);
  if (chunked_) {
    decoder_.ConsumeData(static_cast<int64_t>(count));
  } else {
    remaining_ -= static_cast<int64_t>(count);
  }
}

}  // namespace assay::http
