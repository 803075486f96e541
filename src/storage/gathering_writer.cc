#include "storage/gathering_writer.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace assay::storage {

GatheringWriter::GatheringWriter(ObjectStore& store, MemoryBudget& budget, std::string key, WriteOptions options)
    : store_(store), budget_bytes_(budget.bytes()), key_(std::move(key)), options_(std::move(options)), held_(budget) {}

Status GatheringWriter::Write(Bytes bytes) {
  ASSAY_RETURN_IF_ERROR(broken_);
  if (!held_.Take(static_cast<int64_t>(bytes.size()))) {
    Abort();
    broken_ = Status::Unsupported(
        fmt::format("cannot write a stream to {}: it is written in one request, and until then in memory, of which the "
                    "store's writers may hold {} bytes together (raise the memory budget, write fewer streams at a "
                    "time, or write a file)",
                    store_.Uri(key_), budget_bytes_));
    return broken_;
  }
  memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes.size()));
  std::memcpy(memory_.back().get(), bytes.data(), bytes.size());
  buffers_.emplace_back(memory_.back().get(), bytes.size());
  return Status::Ok();
}

Result<ObjectInfo> GatheringWriter::Commit() {
  ASSAY_RETURN_IF_ERROR(broken_);
  Result<ObjectInfo> result = store_.Write(key_, buffers_, options_);
  Abort();
  return result;
}

void GatheringWriter::Abort() {
  if (broken_.ok()) {
    broken_ = Status::FailedPrecondition("cannot write " + store_.Uri(key_) + ": the write has ended");
  }
  buffers_.clear();
  memory_.clear();
  held_.GiveBack();
}

}  // namespace assay::storage
