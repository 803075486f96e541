// A file of the cache while it comes: HASH.incomplete beside where it will stand, kept when it breaks off.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "hub/hub_client.h"
#include "hub/listing.h"

namespace assay::hub {

/// Holds the lock that huggingface_hub takes of the same file (CACHE/.locks/models--ORG--NAME/HASH.lock), so one
/// process at a time writes it. Belongs to one transfer at a time.
class BlobFile : public ResumableSink {
 public:
  /// Waits for the lock; `on_wait` is called once when another has it. What an earlier attempt left is read again, for
  /// its checksum. kAborted when it is interrupted.
  static Result<std::unique_ptr<BlobFile>> Open(const std::string& cache, const std::string& repository,
                                                const HubFile& file, const std::function<void()>& on_wait);

  /// The blob stands, whole.
  bool is_there() const { return is_there_; }
  int64_t received() const override { return received_; }
  /// Called of every piece that comes, on the transfer's thread.
  void set_on_bytes(std::function<void(int64_t)> on_bytes) { on_bytes_ = std::move(on_bytes); }

  Status Begin(const http::Response& head) override;
  Status Consume(std::span<const std::byte> chunk) override;
  /// Checks what came and puts it in its place, durably. kIo where its checksum is another: what came is removed then.
  Status Publish();

 private:
  BlobFile(std::string folder, const HubFile& file);
  Status TakeLock(const std::string& path, const std::function<void()>& on_wait);
  Status OpenIncomplete();
  Status Restart();
  Status SeekBehindReceived();

  const HubFile file_;
  const std::string path_;
  const std::string incomplete_;
  FileDescriptor lock_;
  FileDescriptor fd_;
  storage::ChecksumStream checksum_;
  std::function<void(int64_t)> on_bytes_;
  int64_t received_ = 0;
  bool is_there_ = false;
};

}  // namespace assay::hub
