// A write of unknown length: parts are filled from what comes, and sent while more comes.
#pragma once

#include <optional>
#include <string>

#include "storage/object_store.h"
#include "storage/transfer/remote_part_writer.h"

namespace assay::storage {

/// Each part is filled in memory of the store's pool, for which it waits, and given back when it has arrived. An object
/// that fits in one part is written in one request.
class StreamWriter final : public ObjectWriter {
 public:
  StreamWriter(const CallContext& context, std::string key, const WriteOptions& options,
               RemotePartWriter::MaySend may_send = nullptr);

  /// Once one has failed, so does all that follows: of its bytes some were taken.
  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override { parts_.Abort(); }

 private:
  /// Hands over what was filled, if anything was.
  Status SendPart();
  Status Fill(Bytes bytes);

  const std::string uri_;
  const std::optional<Checksum> expected_;
  RemotePartWriter parts_;
  std::optional<ChecksumStream> sum_;  ///< of all, where it is expected of another kind than the store's
  int64_t part_ = 0;
  MutableBytes memory_;  ///< of that part; empty until there is something for it
  size_t filled_ = 0;
  Status broken_;
};

}  // namespace assay::storage
