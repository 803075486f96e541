// One range of an object as a call: private memory for a second copy, checksum checked before it counts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "storage/memory_pool.h"
#include "storage/transfer/checksum_parts.h"
#include "storage/transfer/range_sink.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

struct RangeCallOptions {
  bool verify = true;
  /// Of the checksum that is computed where the answer names none; nothing: the store's usual one.
  std::optional<ChecksumKind> kind = std::nullopt;
  /// Set: the object may end before the range does, and where the bytes go is known with the headers. Called for each
  /// attempt, on the I/O thread, and must give the same memory each time.
  RangeSink::Placement place = nullptr;
  bool may_be_shorter = false;
  MemoryPool* memory = nullptr;      ///< for second copies; null: there are none
  const MappedFile* file = nullptr;  ///< as of ReadOptions
};

class RangeCall : public StoreCall {
 public:
  /// The etag that the object must have, at the time of an attempt.
  using Etag = std::function<std::string()>;
  using OnAccepted = std::function<void(const RangeHead& head, PartChecksum checksum)>;
  using OnDone = std::function<void(const CallResult&)>;

  RangeCall(const ReadDialect& dialect, std::string key, RangeRequest request, Etag etag, RangeCallOptions options);
  /// `checksum` has no value where nothing was verified.
  void set_on_accepted(OnAccepted on_accepted) { on_accepted_ = std::move(on_accepted); }
  void set_on_done(OnDone on_done) { on_done_ = std::move(on_done); }

  std::string operation() const override;
  const std::string& key() const override { return key_; }
  void Prepare(Attempt& attempt) override;
  std::optional<Failure> Accept(Attempt& attempt, http::Response& response) override;
  void Done(const CallResult& result) override;
  std::optional<std::pair<Direction, int64_t>> volume() const override;
  bool PrepareReissue() override;

 private:
  RangeSink::Placement PlacementFor(const Attempt& attempt);

  const ReadDialect& dialect_;
  std::string key_;
  RangeRequest request_;
  Etag etag_;
  RangeCallOptions options_;
  OnAccepted on_accepted_;
  OnDone on_done_;
  /// A second copy lands here, because the first may still write into the caller's memory.
  PooledMemory private_memory_;
};

}  // namespace assay::storage
