// Writes of one object: in one request, or in parts.
#pragma once

#include <span>
#include <string>

#include "storage/object_store.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/store_call.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// Scattered buffers of known total, in one request or in parts, as PlanUpload() says.
Task<Result<ObjectInfo>> WriteBuffers(const CallContext& context, std::string key, std::span<const Bytes> buffers,
                                      const WriteOptions& options);

}  // namespace assay::storage
