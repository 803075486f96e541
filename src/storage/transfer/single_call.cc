#include "storage/transfer/single_call.h"

#include <utility>

namespace assay::storage {

CallResult RunOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                  FunctionCall::Take take, CancelFlag cancel, double deadline) {
  CallResult result;
  CallRunner runner(context, {.in_flight = 1, .cancel = cancel, .deadline = deadline});
  runner.Add(std::make_unique<FunctionCall>(std::move(operation), std::move(key), std::move(make), std::move(take),
                                            [&result](const CallResult& end) { result = end; }));
  if (const Status status = runner.RunAll(); !status.ok() && result.status.ok()) {
    result.status = status;
  }
  return result;
}

Result<std::optional<ObjectInfo>> StatObject(const CallContext& context, const std::string& key, CancelFlag cancel) {
  std::optional<ObjectInfo> info;
  const CallResult result = RunOne(
      context, "stat", key, [&] { return context.dialect->Head(key); },
      [&](http::Response& response) {
        Dialect::Read<ObjectInfo> read = context.dialect->ReadHead(key, response);
        info = std::move(read.value);
        return read.failure;
      },
      cancel);
  if (!result.status.ok() && result.failure && result.failure->kind == FailureClass::kMissing) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(result.status);
  return info;
}

}  // namespace assay::storage
