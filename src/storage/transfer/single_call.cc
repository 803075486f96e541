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
  co_return co_await SendOne(context,
                             HeadCall(context, "stat", key,
                                      [&info](ObjectInfo told) {
                                        info = std::move(told);
                                        return FailureWithoutEtag(*info);
                                      }),
                             {.cancel = cancel});
}

}  // namespace

std::unique_ptr<FunctionCall> HeadCall(const CallContext& context, std::string operation, const std::string& key,
                                       std::function<std::optional<Failure>(ObjectInfo)> take,
                                       FunctionCall::OnDone on_done) {
  const ReadDialect& dialect = *context.dialect;
  auto url = std::make_shared<std::string>();
  return std::make_unique<FunctionCall>(
      std::move(operation), key,
      [&dialect, key, url] {
        Outgoing outgoing = dialect.Head(key);
        *url = outgoing.request.url;
        return outgoing;
      },
      [&dialect, key, url, take = std::move(take)](http::Response& response) {
        ReadDialect::Read<ObjectInfo> read = dialect.ReadHead({key, *url}, response);
        return read.failure ? read.failure : take(std::move(read.value));
      },
      std::move(on_done));
}

Task<CallResult> SendOne(const CallContext& context, std::unique_ptr<FunctionCall> call, SingleCallOptions options) {
  CallGroup::Limits limits;
  limits.cancel = options.cancel;
  limits.deadline = options.deadline;
  limits.linger_seconds = options.linger_seconds;
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
