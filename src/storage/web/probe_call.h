// What a GET says of an object, without its bytes.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/transfer/store_call.h"

namespace assay::storage {

/// Asks for the first byte; of a server that sends more, the connection is cut once the headers are there.
class ProbeCall : public StoreCall {
 public:
  /// `info` and `result` are filled by the call's end, and must live until then.
  ProbeCall(const ReadDialect& dialect, std::string key, ObjectInfo& info, CallResult& result)
      : dialect_(dialect), key_(std::move(key)), info_(info), result_(result) {}

  std::string operation() const override { return "stat"; }
  const std::string& key() const override { return key_; }
  /// An empty object has no first byte (416).
  bool IsAnswer(int http_status) const override { return http_status / 100 == 2 || http_status == 416; }
  void Prepare(Attempt& attempt) override;
  std::optional<Failure> Accept(Attempt& attempt, http::Response& response) override;
  void Done(const CallResult& result) override { result_ = result; }

 private:
  class Sink;

  const ReadDialect& dialect_;
  const std::string key_;
  ObjectInfo& info_;
  CallResult& result_;
};

}  // namespace assay::storage
