#include "storage/copy/read_through.h"

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "storage/store_checks.h"

namespace assay::storage {
namespace {

struct Window {
  std::unique_ptr<std::byte[]> memory;
  int64_t bytes = 0;
};

/// Sums what is read whole in more than one window: a single one is compared by the store.
class WholeCheck {
 public:
  WholeCheck(const ObjectInfo& object, const ReadThroughOptions& options, int64_t end) : object_(object) {
    const bool whole = options.offset == 0 && end == object.size && object.size > options.window_bytes;
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
  const int64_t window_bytes = std::max<int64_t>(1, std::min(options.window_bytes, end - options.offset));
  ReadOptions read = options.read;
  read.if_match = object.etag;
  read.known = &object;
  WholeCheck check(object, options, end);
  const auto fetch = [&](Window* window, int64_t offset) {
    window->bytes = std::min(window_bytes, end - offset);
    if (!window->memory) {
      window->memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(window_bytes));
    }
    const ReadPiece piece = {offset, MutableBytes(window->memory.get(), static_cast<size_t>(window->bytes))};
    return store.Read(object.key, std::span(&piece, 1), read).status();
  };
  if (options.offset >= end) {
    return Status::Ok();
  }
  std::array<Window, 2> windows;
  Status fetched = fetch(&windows[0], options.offset);
  for (int64_t offset = options.offset; offset < end; std::swap(windows[0], windows[1])) {
    ASSAY_RETURN_IF_ERROR(fetched);
    offset += windows[0].bytes;
    std::future<Status> next;
    if (offset < end) {
      next = std::async(std::launch::async, fetch, &windows[1], offset);
    }
    const Bytes bytes(windows[0].memory.get(), static_cast<size_t>(windows[0].bytes));
    check.Update(bytes);
    const Status taken = sink(bytes);
    fetched = next.valid() ? next.get() : Status::Ok();
    ASSAY_RETURN_IF_ERROR(taken);
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
