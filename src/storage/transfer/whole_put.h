// An object written in one request.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

using Pieces = std::vector<Bytes>;

/// Lives until its call is done.
class WholePut {
 public:
  WholePut(const CallContext& context, std::string key, Pieces pieces, const WriteOptions& options);
  WholePut(const WholePut&) = delete;
  WholePut& operator=(const WholePut&) = delete;

  /// To be run, once.
  std::unique_ptr<StoreCall> MakeCall();
  /// What became of it, once its call is done. A conditional write whose answer was lost and that then finds its own
  /// object has won, if that is what was sent. May ask the store.
  Task<Result<ObjectInfo>> Finish();
  /// How the call ended.
  const CallResult& result() const { return result_; }

 private:
  std::optional<Failure> Take(http::Response& response, const Checksum& sent);

  CallContext context_;
  std::string key_;
  Pieces pieces_;
  const WriteOptions& options_;
  int64_t bytes_;
  std::string token_;
  ObjectInfo info_;
  CallResult result_;
};

/// What can be said of a write in one request before it: whether the content is what was expected, and, where it has no
/// last bytes before which the journal is asked, what that says.
Status CheckBeforePut(const WriteOptions& options, std::span<const Bytes> content, std::string_view uri);

/// `pieces` in one request.
Task<Result<ObjectInfo>> PutWhole(const CallContext& context, std::string key, Pieces pieces,
                                  const WriteOptions& options);

}  // namespace assay::storage
