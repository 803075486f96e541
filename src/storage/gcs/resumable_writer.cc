#include "storage/gcs/resumable_writer.h"

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/upload.h"

namespace assay::storage {
namespace {

constexpr int64_t kDefaultChunkBytes = 16 << 20;

size_t ChunkBytes(const StoreOptions& options) {
  const int64_t wanted =
      std::min(options.part_bytes > 0 ? options.part_bytes : kDefaultChunkBytes, options.memory_budget_bytes);
  const int64_t multiples = std::max<int64_t>(1, wanted / kResumableMultipleBytes);
  return static_cast<size_t>(multiples * kResumableMultipleBytes);
}

}  // namespace

ResumableWriter::ResumableWriter(const CallContext& context, const GcsDialect& dialect, MemoryBudget& budget,
                                 std::string key, const WriteOptions& options)
    : context_(context),
      dialect_(dialect),
      key_(std::move(key)),
      options_(options),
      chunk_bytes_(ChunkBytes(*context.options)),
      held_(budget) {
  held_.TakeAnyway(static_cast<int64_t>(chunk_bytes_));
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
  while (gathered_.size() + bytes.size() > chunk_bytes_) {
    // Something always stays for the last chunk, which alone may be of any length.
    if (gathered_.empty()) {
      ASSAY_RETURN_IF_ERROR(SendChunk(bytes.first(chunk_bytes_)));
      bytes = bytes.subspan(chunk_bytes_);
      continue;
    }
    const size_t missing = chunk_bytes_ - gathered_.size();
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(missing));
    bytes = bytes.subspan(missing);
    ASSAY_RETURN_IF_ERROR(SendChunk(gathered_));
    gathered_.clear();
  }
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  return Status::Ok();
}

Status ResumableWriter::SendChunk(Bytes chunk) {
  // Of chunks that the service has from an earlier try, nothing but their sums is made.
  if (IsCancelled(options_.cancel)) {
    return CancelledStatus("write", dialect_.Uri(key_));
  }
  if (!upload_) {
    upload_.emplace(context_, dialect_, key_, options_);
    ASSAY_RETURN_IF_ERROR(upload_->Begin());
    upload_->TellJournal(static_cast<int64_t>(chunk_bytes_));
  }
  if (sum_) {
    sum_->Update(chunk);
  }
  return upload_->Append(chunk);
}

Checksum ResumableWriter::Sum() {
  if (!sum_) {
    return upload_->ChecksumWith(gathered_);
  }
  sum_->Update(gathered_);
  return sum_->Finish();
}

Result<ObjectInfo> ResumableWriter::Publish() {
  if (!upload_) {
    return PutWhole(context_, key_, {Bytes(gathered_)}, options_);
  }
  if (options_.expected) {
    const Checksum found = Sum();
    if (found != *options_.expected) {
      return ChecksumMismatchStatus("write", dialect_.Uri(key_), *options_.expected, found);
    }
  }
  return upload_->Finish(gathered_);
}

Result<ObjectInfo> ResumableWriter::Commit() {
  ASSAY_RETURN_IF_ERROR(broken_);
  Result<ObjectInfo> result = Publish();
  Abort();
  return result;
}

void ResumableWriter::Abort() {
  upload_.reset();
  gathered_ = {};
  held_.GiveBack();
  if (broken_.ok()) {
    broken_ = Status::FailedPrecondition("cannot write " + dialect_.Uri(key_) + ": the write has ended");
  }
}

}  // namespace assay::storage
