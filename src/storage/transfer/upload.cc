#include "storage/transfer/upload.h"

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"

namespace assay::storage {
namespace {

/// Parts of the upload that is gone on with must be cut as they were.
StoreOptions PlanOptions(const CallContext& context, const WriteOptions& options) {
  StoreOptions plan = *context.options;
  if (GoesOn(context, options)) {
    plan.part_bytes = options.resume->part_bytes;
  }
  return plan;
}

/// A walk over scattered buffers that cuts them into runs.
class BufferWalk {
 public:
  explicit BufferWalk(std::span<const Bytes> buffers) : buffers_(buffers) {}

  Pieces Next(int64_t bytes) {
    Pieces pieces;
    while (bytes > 0 && buffer_ < buffers_.size()) {
      const Bytes rest = buffers_[buffer_].subspan(offset_);
      const Bytes piece = rest.first(std::min(rest.size(), static_cast<size_t>(bytes)));
      if (!piece.empty()) {
        pieces.push_back(piece);
      }
      bytes -= static_cast<int64_t>(piece.size());
      offset_ += piece.size();
      if (piece.size() == rest.size()) {
        ++buffer_;
        offset_ = 0;
      }
    }
    return pieces;
  }

 private:
  std::span<const Bytes> buffers_;
  size_t buffer_ = 0;
  size_t offset_ = 0;
};

}  // namespace

Result<ObjectInfo> WriteBuffers(const CallContext& context, const std::string& key, std::span<const Bytes> buffers,
                                const WriteOptions& options) {
  const DialectTraits& traits = context.dialect->traits();
  BufferWalk walk(buffers);
  const int64_t total = TotalBytes(buffers);
  ASSAY_ASSIGN_OR_RETURN(const PartPlan plan, PlanUpload(total, PlanOptions(context, options), traits));
  if (plan.parts == 1) {
    return PutWhole(context, key, walk.Next(total), options);
  }
  if (options.expected && options.expected->kind != traits.checksum) {
    ASSAY_RETURN_IF_ERROR(CheckExpected(options, buffers, context.dialect->Uri(key)));
  }
  MultipartUpload upload(context, key, options, plan.connections);
  ASSAY_RETURN_IF_ERROR(upload.Begin());
  upload.TellJournal(plan.part_bytes);
  for (int64_t part = 0; part < plan.parts; ++part) {
    // Of parts that the store has from an earlier try, nothing but their sums is made.
    if (IsCancelled(options.cancel)) {
      return CancelledStatus("write", context.dialect->Uri(key));
    }
    upload.AddPart(walk.Next(plan.part_bytes));
  }
  return upload.Complete();
}

}  // namespace assay::storage
