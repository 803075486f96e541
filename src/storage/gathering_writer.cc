#include "storage/gathering_writer.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace assay::storage {

GatheringWriter::GatheringWriter(ObjectStore& store, std::string key, WriteOptions options, int64_t limit_bytes)
    : store_(store), key_(std::move(key)), options_(std::move(options)), limit_bytes_(limit_bytes) {}

Status GatheringWriter::Write(Bytes bytes) {
  gathered_ += static_cast<int64_t>(bytes.size());
  if (gathered_ > limit_bytes_) {
    return Status::Unsupported(
        fmt::format("cannot write a stream of more than {} bytes to {}: it is written in one request (raise the memory "
                    "budget, or write a file)",
                    limit_bytes_, store_.Uri(key_)));
  }
  memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes.size()));
  std::memcpy(memory_.back().get(), bytes.data(), bytes.size());
  buffers_.emplace_back(memory_.back().get(), bytes.size());
  return Status::Ok();
}

Result<ObjectInfo> GatheringWriter::Commit() {
  if (std::exchange(ended_, true)) {
    return Status::Internal("a stream was to be committed after its end");
  }
  if (gathered_ > limit_bytes_) {
    return Status::Unsupported(fmt::format("cannot write {}: the stream was too long", store_.Uri(key_)));
  }
  return store_.Write(key_, buffers_, options_);
}

}  // namespace assay::storage
