// Reads of one object: many ranges at a time, straight into the caller's memory, all of one version, verified.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/checksum_parts.h"
#include "storage/transfer/range_call.h"
#include "storage/transfer/range_plan.h"
#include "storage/transfer/range_sink.h"

namespace assay::storage {

/// One operation. The first answer tells size and etag; the other ranges are sent as soon as its headers are there,
/// with If-Match. What is verified: each answer for which the store gives a checksum; the whole, when the ranges cover
/// the object, against the checksum that the store records. Where that does not come with the first range and the
/// caller does not know it, it is asked for (HEAD) while the ranges travel; where it is of a kind that theirs do not
/// give, what came is read once more.
class RangeReader {
 public:
  RangeReader(const CallContext& context, std::string key, const ReadOptions& options);
  ~RangeReader();

  Task<Result<ObjectInfo>> ReadPieces(std::span<const ReadPiece> pieces);
  /// `allocate` is called once, on an I/O thread of the client. `first_bytes`: of the first range; 0: those of a part.
  Task<Result<ObjectInfo>> ReadWhole(const std::function<MutableBytes(int64_t size)>& allocate,
                                     int64_t first_bytes = 0);

 private:
  Task<Result<ObjectInfo>> Run(std::function<void()> add_first);
  /// Bytes that are read again are no progress.
  void TellProgress(int64_t bytes);
  void AddRange(RangeRequest request, RangeCallOptions options);
  /// Runs on the store's thread, once, when the first headers are there.
  void TakeHead(const RangeHead& head);
  void AskForChecksum();
  /// Whether the first range and those behind it are all of the object.
  bool CoversWhole() const;
  /// The caller knows another size of this version: nothing more is asked of it.
  bool DiffersFromKnown() const;
  /// Whether all that was said of the version that was read is of one object.
  Status CheckSizes() const;
  Status VerifyWhole() const;
  /// After VerifyWhole() has failed: whether another attempt makes sense, and of which version.
  bool PrepareAgain();
  int64_t part_bytes() const;

  CallContext context_;
  std::string key_;
  ReadOptions options_;
  std::unique_ptr<CallGroup> calls_;
  bool head_taken_ = false;
  ObjectInfo info_;
  std::optional<int64_t> other_size_;  ///< what an answer said that contradicts `info_`
  std::optional<ObjectInfo> asked_;    ///< what the store said when it was asked for the checksum
  std::string etag_;                   ///< that all answers must have, once it is known
  int64_t first_offset_ = 0;           ///< of the first range
  int64_t first_bytes_ = 0;
  std::vector<RangeRequest> requests_;  ///< ReadPieces: all of them
  std::vector<RangeRequest> waiting_;   ///< the ranges behind the first
  MutableBytes whole_;                  ///< ReadWhole: where the object goes
  std::span<const ReadPiece> pieces_;   ///< ReadPieces: where the ranges go
  std::vector<PartChecksum> checksums_;
  int64_t accepted_bytes_ = 0;  ///< of this attempt of the whole
  int64_t told_bytes_ = 0;      ///< of all that were, the most
};

}  // namespace assay::storage
