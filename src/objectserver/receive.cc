#include "objectserver/receive.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "objectserver/context.h"

namespace assay::objectserver {
namespace {

/// Hands the whole body, as text, to a handler.
class TextBodyExchange : public http::Exchange {
 public:
  TextBodyExchange(BodyHandler handler, size_t max_bytes) : handler_(std::move(handler)), max_bytes_(max_bytes) {}

  std::span<std::byte> BodyMemory(size_t most) override {
    constexpr size_t kStep = 64 << 10;
    if (size_ >= max_bytes_) {
      too_large_ = true;
      return {};
    }
    body_.resize(size_ + std::min(most, kStep));
    return std::as_writable_bytes(std::span(body_)).subspan(size_);
  }
  void BodyReceived(size_t count) override { size_ += count; }
  http::ServerResponse Finish(const http::Headers&) override {
    if (too_large_) {
      return http::TextResponse(413, "the request's body is too large");
    }
    return handler_(std::string_view(body_).substr(0, size_));
  }

 private:
  BodyHandler handler_;
  size_t max_bytes_;
  std::string body_;
  size_t size_ = 0;
  bool too_large_ = false;
};

}  // namespace

std::unique_ptr<http::Exchange> TextExchange(BodyHandler handler, size_t max_body_bytes) {
  return std::make_unique<TextBodyExchange>(std::move(handler), max_body_bytes);
}

std::span<std::byte> ContentReceiver::Memory(size_t most) {
  memory_ = status_.ok() ? writer_->Memory(most) : std::span<std::byte>();
  return memory_;
}

void ContentReceiver::Received(size_t count) {
  digests_.Update(memory_.first(count));
  received_bytes_ += static_cast<int64_t>(count);
  status_ = writer_->Received(count);
}

void ContentReceiver::Copy(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> memory = Memory(bytes.size());
    if (memory.empty()) {
      return;
    }
    const size_t count = std::min(memory.size(), bytes.size());
    std::memcpy(memory.data(), bytes.data(), count);
    Received(count);
    bytes = bytes.subspan(count);
  }
}

Result<ReceivedContent> ContentReceiver::Finish() {
  ASSAY_RETURN_IF_ERROR(status_);
  ASSAY_ASSIGN_OR_RETURN(Blob blob, writer_->Finish());
  return ReceivedContent{std::move(blob), digests_.Finish()};
}

}  // namespace assay::objectserver
