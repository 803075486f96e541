#include "storage/transfer/stream_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/store_checks.h"

namespace assay::storage {

StreamWriter::StreamWriter(const CallContext& context, std::string key, const WriteOptions& options,
                           RemotePartWriter::MaySend may_send)
    : uri_(context.dialect->Uri(key)),
      expected_(options.expected),
      parts_(context, std::move(key), options, std::move(may_send)) {
  // Parts give the whole's checksum when it is of the store's own kind.
  if (expected_ && expected_->kind != context.dialect->traits().checksum) {
    sum_.emplace(expected_->kind);
  }
}

Status StreamWriter::SendPart() {
  if (memory_.empty()) {
    return Status::Ok();
  }
  memory_ = {};
  return parts_.WritePart(part_++, static_cast<int64_t>(std::exchange(filled_, 0)));
}

Status StreamWriter::Write(Bytes bytes) {
  if (broken_.ok()) {
    broken_ = Fill(bytes);
  }
  return broken_;
}

Status StreamWriter::Fill(Bytes bytes) {
  if (sum_) {
    sum_->Update(bytes);
  }
  while (!bytes.empty()) {
    // A full part is sent when more comes: the last one is not known before.
    if (filled_ == memory_.size()) {
      ASSAY_RETURN_IF_ERROR(SendPart());
      ASSAY_ASSIGN_OR_RETURN(memory_, parts_.Reserve(part_));
    }
    const Bytes piece = bytes.first(std::min(bytes.size(), memory_.size() - filled_));
    std::memcpy(memory_.data() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return Status::Ok();
}

Result<ObjectInfo> StreamWriter::Commit() {
  if (!broken_.ok()) {
    Abort();
    return broken_;
  }
  ASSAY_RETURN_IF_ERROR(SendPart());
  if (const std::optional<Checksum> found = sum_ ? std::optional(sum_->Finish()) : std::nullopt;
      found && *found != *expected_) {
    Abort();
    return ChecksumMismatchStatus("write", uri_, *expected_, *found);
  }
  return parts_.Commit();
}

}  // namespace assay::storage
