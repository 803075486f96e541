#include "storage/gcs/own_write.h"

#include "storage/store_checks.h"

namespace assay::storage {

Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options) {
  if (result.failure && result.failure->kind == FailureClass::kPrecondition) {
    const auto standing = StatObject(context, key);
    if (standing.ok() && standing->has_value() && WonEarlier(**standing, options.metadata)) {
      return **standing;
    }
  }
  return result.status;
}

}  // namespace assay::storage
