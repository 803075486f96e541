#include "storage/copy/read_through.h"

#include <algorithm>
#include <array>
#include <future>
#include <optional>
#include <utility>

#include "storage/copy/window_memory.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

/// Sums what is read whole in more than one window: a single one is compared by the store.
class WholeCheck {
 public:
  WholeCheck(const ObjectInfo& object, const ReadThroughOptions& options, int64_t window_bytes, int64_t end)
      : object_(object) {
    const bool whole = options.offset == 0 && end == object.size && object.size > window_bytes;
    if (whole && options.verify_whole && options.read.verify && object.checksum) {
      stream_.emplace(object.checksum->kind);
    }
  }
  void Update(Bytes bytes) {
    if (stream_) {
      stream_->Update(bytes);
    }
  }
  Status Finish(const ObjectStore& store) {
    const std::optional<Checksum> found = stream_ ? std::optional(stream_->Finish()) : std::nullopt;
    return !found || found == object_.checksum
               ? Status::Ok()
               : ChecksumMismatchStatus("read", store.Uri(object_.key), *object_.checksum, *found);
  }

 private:
  const ObjectInfo& object_;
  std::optional<ChecksumStream> stream_;
};

}  // namespace

Status ReadThrough(ObjectStore& store, const ObjectInfo& object, const ReadThroughOptions& options,
                   const std::function<Status(Bytes)>& sink) {
  const int64_t end = options.length < 0 ? object.size : options.offset + options.length;
  MemoryPool* const pool = store.memory_pool();
  int64_t window_bytes = std::max<int64_t>(1, std::min(options.window_bytes, end - options.offset));
  window_bytes = pool == nullptr ? window_bytes : std::min(window_bytes, pool->budget());
  ReadOptions read = options.read;
  read.if_match = object.etag;
  read.known = &object;
  WholeCheck check(object, options, window_bytes, end);
  const auto part_at = [&](const WindowMemory& memory, int64_t offset) {
    return memory.bytes().first(static_cast<size_t>(std::min(window_bytes, end - offset)));
  };
  const auto fetch = [&](MutableBytes memory, int64_t offset) {
    const ReadPiece piece = {offset, memory};
    return store.Read(object.key, std::span(&piece, 1), read).status();
  };
  if (options.offset >= end) {
    return Status::Ok();
  }
  std::array<WindowMemory, 2> windows;
  ASSAY_RETURN_IF_ERROR(windows[0].Take(pool, window_bytes, /*may_wait=*/true, read.cancel).status());
  // Who waited for the second one while it holds the first could wait for others that do.
  const bool has_two = options.offset + window_bytes < end && *windows[1].Take(pool, window_bytes, false, read.cancel);
  Status fetched = fetch(part_at(windows[0], options.offset), options.offset);
  for (int64_t offset = options.offset; offset < end;) {
    ASSAY_RETURN_IF_ERROR(fetched);
    const Bytes bytes = part_at(windows[0], offset);
    offset += static_cast<int64_t>(bytes.size());
    std::future<Status> next;
    if (offset < end && has_two) {
      next = std::async(std::launch::async, fetch, part_at(windows[1], offset), offset);
    }
    check.Update(bytes);
    const Status taken = sink(bytes);
    fetched = next.valid() ? next.get() : Status::Ok();
    ASSAY_RETURN_IF_ERROR(taken);
    if (offset < end && !has_two) {
      fetched = fetch(part_at(windows[0], offset), offset);
    } else if (has_two) {
      std::swap(windows[0], windows[1]);
    }
  }
  return check.Finish(store);
}

Result<Checksum> ReadChecksum(ObjectStore& store, const ObjectInfo& object, ChecksumKind kind,
                              const ReadOptions& options, int64_t window_bytes) {
  ChecksumStream stream(kind);
  ReadThroughOptions through;
  through.read = options;
  through.window_bytes = window_bytes > 0 ? window_bytes : through.window_bytes;
  through.verify_whole = false;  // that is the caller's to do
  ASSAY_RETURN_IF_ERROR(ReadThrough(store, object, through, [&stream](Bytes bytes) {
    stream.Update(bytes);
    return Status::Ok();
  }));
  return stream.Finish();
}

}  // namespace assay::storage
