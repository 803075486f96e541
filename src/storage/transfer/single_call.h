// Calls without a body of their own to move: one function writes the request, one reads the answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

class FunctionCall : public StoreCall {
 public:
  using Make = std::function<Outgoing()>;
  using Take = std::function<std::optional<Failure>(http::Response&)>;
  using OnDone = std::function<void(const CallResult&)>;

  FunctionCall(std::string operation, std::string key, Make make, Take take, OnDone on_done = nullptr)
      : operation_(std::move(operation)),
        key_(std::move(key)),
        make_(std::move(make)),
        take_(std::move(take)),
        on_done_(std::move(on_done)) {}

  std::string operation() const override { return operation_; }
  const std::string& key() const override { return key_; }
  void Prepare(Attempt& attempt) override { attempt.outgoing = make_(); }
  std::optional<Failure> Accept(Attempt& attempt, http::Response& response) override {
    return take_ ? take_(response) : std::nullopt;
  }
  void Done(const CallResult& result) override {
    if (on_done_) {
      on_done_(result);
    }
  }
  void set_on_done(OnDone on_done) { on_done_ = std::move(on_done); }
  /// In place of 2xx.
  void set_is_answer(std::function<bool(int http_status)> is_answer) { is_answer_ = std::move(is_answer); }
  bool IsAnswer(int http_status) const override {
    return is_answer_ ? is_answer_(http_status) : StoreCall::IsAnswer(http_status);
  }

 private:
  std::string operation_;
  std::string key_;
  Make make_;
  Take take_;
  OnDone on_done_;
  std::function<bool(int)> is_answer_;
};

/// HEAD of an object; `take` gets what the answer says of it.
std::unique_ptr<FunctionCall> HeadCall(const CallContext& context, std::string operation, const std::string& key,
                                       std::function<std::optional<Failure>(ObjectInfo)> take,
                                       FunctionCall::OnDone on_done = nullptr);

/// Beyond what a call itself says.
struct SingleCallOptions {
  CancelFlag cancel = nullptr;
  double deadline = 0;        ///< on MonotonicSeconds(); 0: that of the store's operations
  double linger_seconds = 0;  ///< as of CallGroup::Limits
};

/// Sends one call with its retries. Its end is told of the call itself: what the store has done by the time of a
/// cancellation is done.
Task<CallResult> SendOne(const CallContext& context, std::unique_ptr<FunctionCall> call, SingleCallOptions options);
Task<CallResult> SendOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                         FunctionCall::Take take = nullptr, SingleCallOptions options = {});
/// Likewise, on this thread.
CallResult RunOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                  FunctionCall::Take take = nullptr, CancelFlag cancel = nullptr, double deadline = 0);

/// Nothing when there is no such object.
Task<Result<std::optional<ObjectInfo>>> StatObject(const CallContext& context, std::string key,
                                                   CancelFlag cancel = nullptr);

}  // namespace assay::storage
