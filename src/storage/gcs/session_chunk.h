// One chunk of a resumable upload as a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/transfer/store_call.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// "308 Resume Incomplete": the service has taken bytes, and wants more.
inline constexpr int kResumeIncomplete = 308;
/// How many bytes such an answer says that the service has; 0 where it does not say.
int64_t CommittedOf(const http::Response& answer);

/// What one chunk of a session is, and how far it has come.
struct SessionChunk {
  std::string url;
  Pieces pieces;
  int64_t begin = 0;  ///< in the object
  int64_t end = 0;
  bool last = false;                 ///< the object ends with it
  Checksum whole;                    ///< of a last one: of the whole object
  int64_t sent = 0;                  ///< of the object, bytes that the service has
  std::optional<ObjectInfo> object;  ///< that the service says it has made
};

/// Sends the chunk from where the service has it, as often as the service takes only a part. What failed is first asked
/// about ("bytes */*"). `chunk` must outlive it.
class SessionChunkCall : public StoreCall {
 public:
  SessionChunkCall(std::string key, SessionChunk& chunk, ProgressCallback progress, CallResult& result)
      : key_(std::move(key)), chunk_(chunk), progress_(std::move(progress)), result_(result), most_(chunk.sent) {}

  std::string operation() const override { return "write"; }
  const std::string& key() const override { return key_; }
  void Prepare(Attempt& attempt) override;
  bool IsAnswer(int http_status) const override {
    return http_status == kResumeIncomplete || StoreCall::IsAnswer(http_status);
  }
  std::optional<Failure> Accept(Attempt& attempt, http::Response& response) override;
  void Done(const CallResult& result) override { result_ = result; }

 private:
  std::optional<Failure> TakeCommitted(int64_t committed);

  const std::string key_;
  SessionChunk& chunk_;
  const ProgressCallback progress_;
  CallResult& result_;
  int64_t most_;  ///< beyond all that it has had: what it takes and drops in turns would have no end
  bool must_ask_ = false;
  bool asks_ = false;  ///< the attempt that is under way
};

}  // namespace assay::storage
