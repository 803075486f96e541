// Content on its way into the store: written where it will stay, with its checksums computed while it is in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/status.h"
#include "http/server.h"
#include "objectserver/blob.h"
#include "objectserver/digests.h"

namespace assay::objectserver {

struct ReceivedContent {
  Blob blob;
  Digests digests;
};

/// Belongs to one thread.
class ContentReceiver {
 public:
  ContentReceiver(std::unique_ptr<BlobWriter> writer, const std::set<storage::ChecksumKind>& digests)
      : writer_(std::move(writer)), digests_(digests) {}

  /// Memory for the next bytes; empty after a failure.
  std::span<std::byte> Memory(size_t most);
  void Received(size_t count);
  void Copy(std::span<const std::byte> bytes);
  int64_t received_bytes() const { return received_bytes_; }
  Result<ReceivedContent> Finish();

 private:
  std::unique_ptr<BlobWriter> writer_;
  DigestSet digests_;
  std::span<std::byte> memory_;
  int64_t received_bytes_ = 0;
  Status status_;
};

/// A request whose body is content as it stands. `done` makes the answer.
class ContentExchange : public http::Exchange {
 public:
  using Done = std::function<http::ServerResponse(Result<ReceivedContent> content)>;
  ContentExchange(ContentReceiver receiver, Done done) : receiver_(std::move(receiver)), done_(std::move(done)) {}

  std::span<std::byte> BodyMemory(size_t most) override { return receiver_.Memory(most); }
  void BodyReceived(size_t count) override { receiver_.Received(count); }
  http::ServerResponse Finish(const http::Headers&) override { return done_(receiver_.Finish()); }

 private:
  ContentReceiver receiver_;
  Done done_;
};

}  // namespace assay::objectserver
