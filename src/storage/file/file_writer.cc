#include "storage/file/file_writer.h"

#include <utility>

#include "storage/store_checks.h"

namespace assay::storage {

namespace {
constexpr size_t kGatherBytes = 256 << 10;
}  // namespace

FileWriter::FileWriter(StagedFile staged, FileTransfer transfer, WriteOptions options, Finish finish)
    : staged_(std::move(staged)),
      transfer_(std::move(transfer)),
      options_(std::move(options)),
      finish_(std::move(finish)) {
  transfer_.progress = &options_.progress;
  if (options_.expected.has_value() && options_.expected->kind != ChecksumKind::kCrc32c) {
    expected_.emplace(options_.expected->kind);
  }
}

Status FileWriter::Write(Bytes bytes) {
  if (!staged_.valid()) {
    return Status::FailedPrecondition("cannot write " + transfer_.uri +
                                      ": its upload was given up after an error (open a new one)");
  }
  if (gathered_.size() + bytes.size() < kGatherBytes) {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    return Status::Ok();
  }
  return Flush(bytes);
}

Status FileWriter::Flush(Bytes bytes) {
  const Bytes parts[] = {gathered_, bytes};
  const auto crc = WriteBuffers(transfer_, written_, parts);
  if (!crc.ok()) {
    staged_.Discard();
    return crc.status();
  }
  const int64_t total = TotalBytes(parts);
  crc32c_ = CombineCrc32c(crc32c_, *crc, total);
  written_ += total;
  if (expected_.has_value()) {
    expected_->Update(parts[0]);
    expected_->Update(parts[1]);
  }
  gathered_.clear();
  return Status::Ok();
}

Result<ObjectInfo> FileWriter::Commit() {
  ASSAY_RETURN_IF_ERROR(Write({}));
  ASSAY_RETURN_IF_ERROR(Flush({}));
  const Checksum checksum = MakeCrc32c(crc32c_);
  if (options_.expected.has_value()) {
    const Checksum found = expected_.has_value() ? expected_->Finish() : checksum;
    if (found != *options_.expected) {
      staged_.Discard();
      return ChecksumMismatchStatus("write", transfer_.uri, *options_.expected, found);
    }
  }
  auto info = finish_(staged_, checksum, options_);
  staged_.Discard();
  return info;
}

}  // namespace assay::storage
