#include "objectserver/receive.h"

#include <algorithm>
#include <cstring>

namespace assay::objectserver {
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
