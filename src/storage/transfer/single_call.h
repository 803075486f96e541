// Calls without a body of their own to move: one function writes the request, one reads the answer.
#pragma once

#include <functional>
#include <optional>
#include <string>

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

 private:
  std::string operation_;
  std::string key_;
  Make make_;
  Take take_;
  OnDone on_done_;
};

/// Sends one call with its retries and waits for its end.
CallResult RunOne(const CallContext& context, std::string operation, std::string key, FunctionCall::Make make,
                  FunctionCall::Take take = nullptr, CancelFlag cancel = nullptr, double deadline = 0);

/// Nothing when there is no such object.
Result<std::optional<ObjectInfo>> StatObject(const CallContext& context, const std::string& key,
                                             CancelFlag cancel = nullptr);

}  // namespace assay::storage
