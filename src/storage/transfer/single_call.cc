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

Task<CallResult> HeadObject(const CallContext& context, const std::string& key, CancelFlag cancel,
                            std::optional<ObjectInfo>& info) {
  const auto make = [&] { return context.dialect->Head(key); };
  const auto take = [&](http::Response& response) {
    Dialect::Read<ObjectInfo> read = context.dialect->ReadHead(key, response);
    info = std::move(read.value);
    return read.failure ? read.failure : FailureWithoutEtag(*info);
  };
  co_return co_await SendOne(context, "stat", key, make, take, {.cancel = cancel});
}

}  // namespace

Task<CallResult> SendOne(const CallContext& context, std::unique_ptr<FunctionCall> call, SingleCallOptions options) {
  CallGroup::Limits limits;
  limits.cancel = options.cancel;
  limits.deadline = options.deadline;
  limits.priority = CallEngine::kSinglePriority;
  CallResult result;
  CallGroup calls(context, limits);
  call->set_on_done([&result](const CallResult& end) { result = end; });
  calls.Add(std::move(call));
  [[maybe_unused]] const Status all = co_await calls.UntilDone();
  co_return result;
}

Task<CallResult> SendOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                         FunctionCall::Take take, SingleCallOptions options) {
  return SendOne(context,
                 std::make_unique<FunctionCall>(std::move(operation), std::move(key), std::move(make), std::move(take)),
                 options);
}

CallResult RunOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                  FunctionCall::Take take, CancelFlag cancel, double deadline) {
  return RunHere(SendOne(context, std::move(operation), std::move(key), std::move(make), std::move(take),
                         {.cancel = cancel, .deadline = deadline}));
}

Task<Result<std::optional<ObjectInfo>>> StatObject(const CallContext& context, std::string key, CancelFlag cancel) {
  std::optional<ObjectInfo> info;
  CallResult result = co_await HeadObject(context, key, cancel, info);
  if (IsRefusal(result) && result.failure->store_code.empty()) {
    const auto make = [&] { return context.dialect->Get(key, 0, 1, ""); };
    CallResult told = co_await SendOne(context, "stat", key, make, nullptr, {.cancel = cancel});
    // Where that was let in, what was wrong with the first has been corrected: the credentials or the clock.
    const bool refused = IsRefusal(told);
    result = std::move(told);
    if (!refused) {
      result = co_await HeadObject(context, key, cancel, info);
    }
  }
  if (!result.status.ok() && result.failure && result.failure->kind == FailureClass::kMissing) {
    co_return std::optional<ObjectInfo>();
  }
  ASSAY_CO_RETURN_IF_ERROR(result.status);
  co_return info;
}

}  // namespace assay::storage
