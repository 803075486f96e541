#include "storage/transfer/stream_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"

namespace assay::storage {

StreamWriter::StreamWriter(const CallContext& context, MemoryBudget& memory, std::string key,
                           const WriteOptions& options, MaySend may_send)
    : context_(context), memory_(memory), key_(std::move(key)), options_(options), may_send_(std::move(may_send)) {
  // Parts give the whole's checksum when it is of the store's own kind.
  if (options_.expected && options_.expected->kind != context_.dialect->traits().checksum) {
    expected_stream_.emplace(options_.expected->kind);
  }
  TakeBuffer(static_cast<size_t>(StreamPartBytes(1, *context_.options, context_.dialect->traits())));
}

StreamWriter::~StreamWriter() {
  Abort();
}

bool StreamWriter::TakeBuffer(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(free_.begin(), free_.end(), [bytes](const Buffer& b) { return b.capacity == bytes; });
  if (fits != free_.end()) {
    current_ = std::move(*fits);
    free_.erase(fits);
    return true;
  }
  // Parts have grown: smaller buffers are of no more use.
  free_.clear();
  const auto counted = static_cast<int64_t>(bytes);
  if (!memory_.Take(counted)) {
    if (sent_ > 0) {
      return false;
    }
    memory_.TakeAnyway(counted);
  }
  current_.memory = {new std::byte[bytes], [&memory = memory_, counted](std::byte* buffer) {
                       delete[] buffer;
                       memory.GiveBack(counted);
                     }};
  current_.capacity = bytes;
  return true;
}

Status StreamWriter::Write(Bytes bytes) {
  if (!broken_.ok()) {
    return broken_;
  }
  broken_ = Fill(bytes);
  return broken_;
}

Status StreamWriter::Fill(Bytes bytes) {
  if (expected_stream_) {
    expected_stream_->Update(bytes);
  }
  while (!bytes.empty()) {
    // A full buffer is sent when more comes: the last part is not known before, and one part needs no upload.
    if (filled_ == current_.capacity) {
      ASSAY_RETURN_IF_ERROR(SendPart());
    }
    const Bytes piece = bytes.first(std::min(bytes.size(), current_.capacity - filled_));
    std::memcpy(current_.memory.get() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return Status::Ok();
}

Status StreamWriter::SendPart() {
  const DialectTraits& traits = context_.dialect->traits();
  if (!upload_) {
    ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(true) : Status::Ok());
    upload_ = std::make_unique<MultipartUpload>(context_, key_, options_, ConnectionsOf(*context_.options));
    ASSAY_RETURN_IF_ERROR(upload_->Begin());
  }
  if (++parts_ >= traits.max_parts) {
    return Status::InvalidArgument(
        fmt::format("cannot write {}: it needs more than {} parts of {} bytes; choose larger "
                    "parts or a larger memory budget",
                    context_.dialect->Uri(key_), traits.max_parts, current_.capacity));
  }
  const auto next_bytes = static_cast<size_t>(StreamPartBytes(parts_ + 1, *context_.options, traits));
  auto sent = std::make_shared<Buffer>(std::exchange(current_, {}));
  CountSent(1);
  upload_->AddPart({Bytes(sent->memory.get(), std::exchange(filled_, 0))}, [this, sent] {
    const std::lock_guard lock(mutex_);
    --sent_;
    free_.push_back(std::move(*sent));
  });
  while (!TakeBuffer(next_bytes)) {
    ASSAY_RETURN_IF_ERROR(upload_->WaitBelow(CountSent(0)));
  }
  return upload_->status();
}

int StreamWriter::CountSent(int more) {
  const std::lock_guard lock(mutex_);
  return sent_ += more;
}

Result<ObjectInfo> StreamWriter::Commit() {
  if (!broken_.ok()) {
    return broken_;
  }
  Result<ObjectInfo> result = Publish();
  if (!result.ok()) {
    Abort();
  }
  broken_ = Status::FailedPrecondition(fmt::format("cannot write {}: it was committed", context_.dialect->Uri(key_)));
  return result;
}

Result<ObjectInfo> StreamWriter::Publish() {
  if (expected_stream_) {
    const Checksum found = expected_stream_->Finish();
    if (found != *options_.expected) {
      return ChecksumMismatchStatus("write", context_.dialect->Uri(key_), *options_.expected, found);
    }
  }
  Pieces last = {Bytes(current_.memory.get(), filled_)};
  if (!upload_) {
    ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(false) : Status::Ok());
    return PutWhole(context_, key_, std::move(last), options_);
  }
  upload_->AddPart(std::move(last));
  return upload_->Complete();
}

void StreamWriter::Abort() {
  upload_.reset();
  if (broken_.ok()) {
    broken_ = Status::Aborted(fmt::format("cannot write {}: the write was given up", context_.dialect->Uri(key_)));
  }
}

}  // namespace assay::storage
