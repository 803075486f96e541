#include "storage/gathering_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace assay::storage {

GatheringWriter::GatheringWriter(ObjectStore& store, MemoryPool& pool, std::string key, WriteOptions options)
    : store_(store), pool_(pool), key_(std::move(key)), options_(std::move(options)) {}

Status GatheringWriter::Write(Bytes bytes) {
  ASSAY_RETURN_IF_ERROR(broken_);
  std::optional<PooledMemory> memory = pool_.TryTake(static_cast<int64_t>(bytes.size()));
  if (!memory) {
    Abort();
    broken_ = Status::Unsupported(
        fmt::format("cannot write a stream to {}: it is written in one request, and until then in memory, of which the "
                    "store's writers may hold {} bytes together (raise the memory budget, write fewer streams at a "
                    "time, or write a file)",
                    store_.Uri(key_), pool_.budget()));
    return broken_;
  }
  std::ranges::copy(bytes, memory->bytes().begin());
  buffers_.push_back(memory->bytes());
  memory_.push_back(*std::move(memory));
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
}

}  // namespace assay::storage
