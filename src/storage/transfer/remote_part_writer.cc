#include "storage/transfer/remote_part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"

namespace assay::storage {

RemotePartWriter::RemotePartWriter(const CallContext& context, std::string key, const WriteOptions& options,
                                   MaySend may_send)
    : context_(context), key_(std::move(key)), options_(options), may_send_(std::move(may_send)) {}

int64_t RemotePartWriter::PartBytes(int64_t index) const {
  return std::min(StreamPartBytes(index + 1, *context_.options, context_.dialect->traits()), context_.memory->budget());
}

int64_t RemotePartWriter::PartOffset(int64_t index) const {
  int64_t offset = 0;
  for (int64_t before = 0; before < index; ++before) {
    offset += PartBytes(before);
  }
  return offset;
}

Status RemotePartWriter::Refusal(const std::string& why) const {
  return Status::InvalidArgument(fmt::format("cannot write {}: {}", context_.dialect->Uri(key_), why));
}

Status RemotePartWriter::CheckIndex(int64_t index) const {
  const int64_t most = context_.dialect->traits().max_parts;
  if (index >= most) {
    return Refusal(
        fmt::format("it needs more than {} parts of up to {} bytes; choose larger parts or a larger memory budget",
                    most, PartBytes(most - 1)));
  }
  if (index < 0 || reserved_.contains(index) || written_.contains(index)) {
    return Refusal(fmt::format("part {} is none, or was reserved before (number parts from 0, each once)", index));
  }
  return Status::Ok();
}

Result<MutableBytes> RemotePartWriter::Reserve(int64_t index) {
  {
    const std::lock_guard lock(mutex_);
    ASSAY_RETURN_IF_ERROR(broken_);
    ASSAY_RETURN_IF_ERROR(CheckIndex(index));
    if (first_) {
      // There are more parts than one. Its memory is not held while more is waited for.
      broken_ = BeginWith(*std::exchange(first_, std::nullopt));
      ASSAY_RETURN_IF_ERROR(broken_);
    }
    reserved_[index];
  }
  Result<PooledMemory> memory = context_.memory->Take(PartBytes(index), options_.cancel);
  const std::lock_guard lock(mutex_);
  ASSAY_RETURN_IF_ERROR(broken_);
  if (!memory.ok()) {
    reserved_.erase(index);
    return memory.status().WithContext("cannot write " + context_.dialect->Uri(key_));
  }
  return (reserved_[index] = *std::move(memory)).bytes();
}

Status RemotePartWriter::CheckBytes(int64_t index, int64_t filled) const {
  const bool is_last = written_.empty() || index > written_.rbegin()->first;
  const bool follows_short =
      is_last && !written_.empty() && written_.rbegin()->second < PartBytes(written_.rbegin()->first);
  const int64_t full = PartBytes(index);
  if (filled > full || filled <= 0 || follows_short || (!is_last && filled < full)) {
    return Refusal(fmt::format("part {} has {} bytes of {}, and only the last may have fewer",
                               follows_short ? written_.rbegin()->first : index,
                               follows_short ? written_.rbegin()->second : filled, full));
  }
  return Status::Ok();
}

Status RemotePartWriter::WritePart(int64_t index, int64_t filled) {
  const std::lock_guard lock(mutex_);
  ASSAY_RETURN_IF_ERROR(broken_);
  const auto reserved = reserved_.find(index);
  if (reserved == reserved_.end() || !reserved->second) {
    broken_ = Refusal(fmt::format("part {} was not reserved", index));
  } else {
    broken_ = CheckBytes(index, filled);
  }
  if (!broken_.ok()) {
    return broken_;
  }
  Filled part{index, filled, std::move(reserved->second)};
  reserved_.erase(reserved);
  written_[index] = filled;
  broken_ = Take(std::move(part));
  return broken_;
}

Status RemotePartWriter::Take(Filled part) {
  if (!upload_ && reserved_.empty()) {
    first_ = std::move(part);
    return Status::Ok();
  }
  if (!upload_) {
    return BeginWith(std::move(part));
  }
  Send(std::move(part));
  return upload_->status();
}

Status RemotePartWriter::BeginWith(Filled part) {
  const DialectTraits& traits = context_.dialect->traits();
  if (PartBytes(0) < traits.min_part_bytes) {
    return Refusal(fmt::format("the store takes parts of {} bytes and more, and the memory budget is {} (raise it)",
                               traits.min_part_bytes, context_.memory->budget()));
  }
  ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(true) : Status::Ok());
  upload_ = std::make_unique<MultipartUpload>(context_, key_, options_, ConnectionsOf(*context_.options));
  ASSAY_RETURN_IF_ERROR(RunHere(upload_->Begin()));
  Send(std::move(part));
  return Status::Ok();
}

void RemotePartWriter::Send(Filled part) {
  const auto sent = std::make_shared<PooledMemory>(std::move(part.memory));
  sent->SetMoving();
  upload_->AddPart(static_cast<int>(part.index + 1), {sent->bytes().first(static_cast<size_t>(part.bytes))},
                   [sent] { *sent = {}; });
}

Status RemotePartWriter::CheckComplete() const {
  if (!reserved_.empty()) {
    return Refusal(fmt::format("part {} was reserved and not written", reserved_.begin()->first));
  }
  const auto parts = static_cast<int64_t>(written_.size());
  return parts == 0 || written_.rbegin()->first == parts - 1
             ? Status::Ok()
             : Refusal(fmt::format("{} parts were written, and the last is part {}: some are missing", parts,
                                   written_.rbegin()->first));
}

Result<ObjectInfo> RemotePartWriter::Publish() {
  ASSAY_RETURN_IF_ERROR(CheckComplete());
  if (upload_) {
    return RunHere(upload_->Complete());
  }
  ASSAY_RETURN_IF_ERROR(may_send_ ? may_send_(false) : Status::Ok());
  const Bytes content = first_ ? Bytes(first_->memory.bytes().first(static_cast<size_t>(first_->bytes))) : Bytes();
  return RunHere(PutWhole(context_, key_, {content}, options_));
}

Result<ObjectInfo> RemotePartWriter::Commit() {
  const std::lock_guard lock(mutex_);
  ASSAY_RETURN_IF_ERROR(broken_);
  Result<ObjectInfo> result = Publish();
  Free();
  broken_ = Status::FailedPrecondition(fmt::format("cannot write {}: it was committed", context_.dialect->Uri(key_)));
  return result;
}

void RemotePartWriter::Free() {
  upload_.reset();
  first_.reset();
  reserved_.clear();
}

void RemotePartWriter::Abort() {
  const std::lock_guard lock(mutex_);
  Free();
  if (broken_.ok()) {
    broken_ = Status::Aborted(fmt::format("cannot write {}: the write was given up", context_.dialect->Uri(key_)));
  }
}

}  // namespace assay::storage
