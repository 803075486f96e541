#include "storage/gcs/resumable_writer.h"

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/upload.h"

namespace assay::storage {
ResumableWriter::ResumableWriter(const CallContext& context, const GcsDialect& dialect, std::string key,
                                 const WriteOptions& options)
    : context_(context),
      dialect_(dialect),
      key_(std::move(key)),
      options_(options),
      chunk_bytes_(static_cast<size_t>(SessionChunkBytes(*context.options))) {
  if (options_.expected && options_.expected->kind != ChecksumKind::kCrc32c) {
    sum_.emplace(options_.expected->kind);
  }
}

Status ResumableWriter::Write(Bytes bytes) {
  if (broken_.ok()) {
    broken_ = Take(bytes);
  }
  return broken_;
}

Status ResumableWriter::Take(Bytes bytes) {
  while (gathered_ + bytes.size() > chunk_bytes_) {
    // Something always stays for the last chunk, which alone may be of any length.
    if (gathered_ == 0) {
      ASSAY_RETURN_IF_ERROR(SendChunk(bytes.first(chunk_bytes_)));
      bytes = bytes.subspan(chunk_bytes_);
      continue;
    }
    const size_t missing = chunk_bytes_ - gathered_;
    ASSAY_RETURN_IF_ERROR(Gather(bytes.first(missing)));
    bytes = bytes.subspan(missing);
    ASSAY_RETURN_IF_ERROR(SendChunk(gathered()));
    gathered_ = 0;
  }
  return Gather(bytes);
}

Status ResumableWriter::Gather(Bytes bytes) {
  if (!bytes.empty() && !memory_) {
    auto memory = context_.memory->Take(static_cast<int64_t>(chunk_bytes_), options_.cancel);
    ASSAY_RETURN_IF_ERROR(memory.status().WithContext("cannot write " + dialect_.Uri(key_)));
    memory_ = *std::move(memory);
  }
  std::ranges::copy(bytes, memory_.bytes().begin() + static_cast<ptrdiff_t>(gathered_));
  gathered_ += bytes.size();
  return Status::Ok();
}

Status ResumableWriter::SendChunk(Bytes chunk) {
  // Of chunks that the service has from an earlier try, nothing but their sums is made.
  if (IsCancelled(options_.cancel)) {
    return CancelledStatus("write", dialect_.Uri(key_));
  }
  if (!upload_) {
    upload_.emplace(context_, dialect_, key_, options_);
    ASSAY_RETURN_IF_ERROR(RunHere(upload_->Begin()));
    RunHere(upload_->TellJournal(static_cast<int64_t>(chunk_bytes_)));
  }
  if (sum_) {
    sum_->Update(chunk);
  }
  return RunHere(upload_->Append({chunk}));
}

Checksum ResumableWriter::Sum() {
  if (!sum_) {
    const Bytes rest = gathered();
    return upload_->ChecksumWith(std::span(&rest, 1));
  }
  sum_->Update(gathered());
  return sum_->Finish();
}

Result<ObjectInfo> ResumableWriter::Publish() {
  if (!upload_) {
    return RunHere(PutWhole(context_, key_, {gathered()}, options_));
  }
  if (options_.expected) {
    const Checksum found = Sum();
    if (found != *options_.expected) {
      return ChecksumMismatchStatus("write", dialect_.Uri(key_), *options_.expected, found);
    }
  }
  return RunHere(upload_->Finish({gathered()}));
}

Result<ObjectInfo> ResumableWriter::Commit() {
  ASSAY_RETURN_IF_ERROR(broken_);
  Result<ObjectInfo> result = Publish();
  Abort();
  return result;
}

void ResumableWriter::Abort() {
  upload_.reset();
  memory_ = {};
  gathered_ = 0;
  if (broken_.ok()) {
    broken_ = Status::FailedPrecondition("cannot write " + dialect_.Uri(key_) + ": the write has ended");
  }
}

}  // namespace assay::storage
