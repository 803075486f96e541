#include "storage/transfer/stream_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"

namespace assay::storage {

StreamWriter::StreamWriter(const CallContext& context, std::string key, const WriteOptions& options, MaySend may_send)
    : context_(context), key_(std::move(key)), options_(options), may_send_(std::move(may_send)) {
  // Parts give the whole's checksum when it is of the store's own kind.
  if (options_.expected && options_.expected->kind != context_.dialect->traits().checksum) {
    expected_stream_.emplace(options_.expected->kind);
  }
}

StreamWriter::~StreamWriter() {
  Abort();
}

Status StreamWriter::TakeBuffer() {
  const int64_t part = StreamPartBytes(parts_ + 1, *context_.options, context_.dialect->traits());
  auto memory = context_.memory->Take(std::min(part, context_.memory->budget()), options_.cancel);
  if (!memory.ok()) {
    return memory.status().WithContext("cannot write " + context_.dialect->Uri(key_));
  }
  current_ = *std::move(memory);
  filled_ = 0;
  return Status::Ok();
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
    if (current_ && filled_ == current_.size()) {
      ASSAY_RETURN_IF_ERROR(SendPart());
    }
    if (!current_) {
      ASSAY_RETURN_IF_ERROR(TakeBuffer());
    }
    const Bytes piece = bytes.first(std::min(bytes.size(), current_.size() - filled_));
    std::memcpy(current_.bytes().data() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return Status::Ok();
}

Status StreamWriter::SendPart() {
  const DialectTraits& traits = context_.dialect->traits();
  if (static_cast<int64_t>(filled_) < traits.min_part_bytes) {
    return Status::InvalidArgument(fmt::format(
        "cannot write {}: the store takes parts of {} bytes and more, and the memory budget is {} (raise it)",
        context_.dialect->Uri(key_), traits.min_part_bytes, context_.memory->budget()));
  }
  if (!upload_) {
    ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(true) : Status::Ok());
    upload_ = std::make_unique<MultipartUpload>(context_, key_, options_, ConnectionsOf(*context_.options));
    ASSAY_RETURN_IF_ERROR(RunHere(upload_->Begin()));
  }
  if (++parts_ >= traits.max_parts) {
    return Status::InvalidArgument(
        fmt::format("cannot write {}: it needs more than {} parts of {} bytes; choose larger "
                    "parts or a larger memory budget",
                    context_.dialect->Uri(key_), traits.max_parts, current_.size()));
  }
  const auto sent = std::make_shared<PooledMemory>(std::move(current_));
  sent->SetMoving();
  upload_->AddPart({sent->bytes().first(filled_)}, [sent] { *sent = {}; });
  return upload_->status();
}

Result<ObjectInfo> StreamWriter::Commit() {
  if (!broken_.ok()) {
    return broken_;
  }
  Result<ObjectInfo> result = Publish();
  if (!result.ok()) {
    Abort();
  }
  current_ = {};
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
  Pieces last = {current_.bytes().first(filled_)};
  if (!upload_) {
    ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(false) : Status::Ok());
    return RunHere(PutWhole(context_, key_, std::move(last), options_));
  }
  upload_->AddPart(std::move(last));
  return RunHere(upload_->Complete());
}

void StreamWriter::Abort() {
  upload_.reset();
  current_ = {};
  filled_ = 0;
  if (broken_.ok()) {
    broken_ = Status::Aborted(fmt::format("cannot write {}: the write was given up", context_.dialect->Uri(key_)));
  }
}

}  // namespace assay::storage
