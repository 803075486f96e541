#include "storage/transfer/own_write.h"

#include "storage/store_checks.h"
#include "storage/transfer/publish.h"

namespace assay::storage {

Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options) {
  const auto token = options.metadata.find(std::string(kWriteTokenName));
  if (token == options.metadata.end() || !FailedWith(result, FailureClass::kPrecondition)) {
    return result.status;
  }
  return SettlePublish(context, {.key = key, .token = token->second}, result);
}

}  // namespace assay::storage
