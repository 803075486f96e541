#include "storage/transfer/single_call.h"

#include <utility>

#include "storage/transfer/call_group.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

/// Answers to HEAD have no body, which is where stores say why they refuse.
bool IsRefusal(const CallResult& result) {
  return result.failure &&
         (result.failure->kind == FailureClass::kDenied || result.failure->kind == FailureClass::kExpired ||
          result.failure->kind == FailureClass::kClockSkew);
}

CallResult HeadObject(const CallContext& context, const std::string& key, CancelFlag cancel,
                      std::optional<ObjectInfo>& info) {
  return RunOne(
      context, "stat", key, [&] { return context.dialect->Head(key); },
      [&](http::Response& response) {
        Dialect::Read<ObjectInfo> read = context.dialect->ReadHead(key, response);
        info = std::move(read.value);
        return read.failure ? read.failure : FailureWithoutEtag(*info);
      },
      cancel);
}

}  // namespace

CallResult RunOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                  FunctionCall::Take take, CancelFlag cancel, double deadline) {
  CallResult result;
  CallGroup calls(context, {.cancel = cancel, .deadline = deadline, .priority = CallEngine::kSinglePriority});
  calls.Add(std::make_unique<FunctionCall>(std::move(operation), std::move(key), std::move(make), std::move(take),
                                           [&result](const CallResult& end) { result = end; }));
  // The call has told its own end: what the store has done by the time of a cancellation is done.
  [[maybe_unused]] const Status all = calls.WaitAll();
  return result;
}

Result<std::optional<ObjectInfo>> StatObject(const CallContext& context, const std::string& key, CancelFlag cancel) {
  std::optional<ObjectInfo> info;
  CallResult result = HeadObject(context, key, cancel, info);
  if (IsRefusal(result) && result.failure->store_code.empty()) {
    CallResult told =
        RunOne(context, "stat", key, [&] { return context.dialect->Get(key, 0, 1, ""); }, nullptr, cancel);
    // Where that was let in, what was wrong with the first has been corrected: the credentials or the clock.
    result = IsRefusal(told) ? std::move(told) : HeadObject(context, key, cancel, info);
  }
  if (!result.status.ok() && result.failure && result.failure->kind == FailureClass::kMissing) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(result.status);
  return info;
}

}  // namespace assay::storage
