#include "storage/transfer/upload.h"

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/buffer_walk.h"
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

/// What is begun and not completed is the caller's to abort.
Task<Result<ObjectInfo>> SendInParts(const CallContext& context, const std::string& key, BufferWalk& walk,
                                     const PartPlan& plan, const WriteOptions& options, MultipartUpload& upload) {
  // Of more parts than that nothing is kept but what the walk says of them.
  const int most_waiting = 2 * plan.connections;
  ASSAY_CO_RETURN_IF_ERROR(co_await upload.Begin());
  co_await upload.TellJournal(plan.part_bytes);
  for (int64_t part = 0; part < plan.parts; ++part) {
    // Of parts that the store has from an earlier try, nothing but their sums is made.
    if (IsCancelled(options.cancel)) {
      co_return CancelledStatus("write", context.dialect->Uri(key));
    }
    upload.AddPart(walk.Next(plan.part_bytes));
    if (!(co_await upload.UntilBelow(most_waiting)).ok()) {
      break;  // Complete() says why
    }
  }
  co_return co_await upload.Complete();
}

}  // namespace

Task<Result<ObjectInfo>> WriteBuffers(const CallContext& context, std::string key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) {
  const DialectTraits& traits = context.dialect->traits();
  BufferWalk walk(buffers);
  const int64_t total = TotalBytes(buffers);
  ASSAY_CO_ASSIGN_OR_RETURN(const PartPlan plan, PlanUpload(total, PlanOptions(context, options), traits));
  if (plan.parts == 1) {
    co_return co_await PutWhole(context, key, walk.Next(total), options);
  }
  if (options.expected && options.expected->kind != traits.checksum) {
    ASSAY_CO_RETURN_IF_ERROR(CheckExpected(options, buffers, context.dialect->Uri(key)));
  }
  MultipartUpload upload(context, key, options, plan.connections);
  Result<ObjectInfo> written = co_await SendInParts(context, key, walk, plan, options, upload);
  co_await upload.Abort();
  co_return written;
}

}  // namespace assay::storage
