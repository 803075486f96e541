// Writes of one object: in one request, or in parts of which many travel at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/call_runner.h"
#include "storage/transfer/checksum_parts.h"

namespace assay::storage {

using Pieces = std::vector<Bytes>;

/// A digest of what a store is told of an object when its upload begins, for ResumableUpload::terms.
std::string UploadTerms(const WriteOptions& write, const StoreOptions& store);

/// An object written in one request. Lives until its call is done.
class WholePut {
 public:
  WholePut(const CallContext& context, std::string key, Pieces pieces, const WriteOptions& options);
  WholePut(const WholePut&) = delete;
  WholePut& operator=(const WholePut&) = delete;

  /// To be run, once.
  std::unique_ptr<StoreCall> MakeCall();
  /// What became of it; `run` is what the runner said. A conditional write whose answer was lost and that then finds
  /// its own object has won. May ask the store.
  Result<ObjectInfo> Finish(const Status& run);

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

/// `pieces` in one request.
Result<ObjectInfo> PutWhole(const CallContext& context, const std::string& key, Pieces pieces,
                            const WriteOptions& options);

/// One write in parts. Nothing is visible before Complete(); the destructor aborts what was not completed, unless it is
/// kept for another try (WriteOptions::journal). Belongs to one thread.
class MultipartUpload {
 public:
  MultipartUpload(const CallContext& context, std::string key, const WriteOptions& options, int in_flight);
  ~MultipartUpload();
  MultipartUpload(const MultipartUpload&) = delete;
  MultipartUpload& operator=(const MultipartUpload&) = delete;

  /// Asks the store for an upload, or for what it holds of the one to go on with.
  Status Begin();
  /// After Begin(), where the parts to come can be sent again as they are cut now.
  void TellJournal(int64_t part_bytes) const;
  /// Queues the next part; `pieces` must live until `release` is called, or this object is gone.
  void AddPart(Pieces pieces, std::function<void()> release = nullptr);
  /// Queues the next part, made by the store itself out of what it holds.
  using MakeRemote = std::function<Outgoing(const std::string& upload_id, int number)>;
  using ReadRemote = std::function<Dialect::Read<ObjectInfo>(const http::Response&)>;
  void AddRemotePart(int64_t bytes, MakeRemote make, ReadRemote read);
  /// Sends until fewer than `parts` are on their way.
  Status RunBelow(int parts);
  /// Sends what is left and publishes the object. `expected`: of the whole; nothing is published where it differs.
  Result<ObjectInfo> Complete();
  void Abort();

 private:
  Status BeginNew();
  /// Fills `held_`; no upload id where the store does not know that upload any more.
  Status BeginAgain();
  std::optional<Failure> TakeParts(http::Response& response, std::string& next_page);
  /// Whether the store has part `number`, and it is of just these bytes.
  bool TakeHeld(int number, const Pieces& pieces, int64_t bytes);
  void GiveUp(const std::string& upload_id);
  Status CheckBeforePublish();
  int NextNumber(int64_t bytes);
  void Progress(const CallResult& result, int64_t bytes) const;
  Result<ObjectInfo> SendComplete(const std::optional<Checksum>& whole);
  /// With the checksums that the store said too: one that knows none refuses them.
  std::vector<UploadedPart> Parts() const;
  std::optional<Checksum> Combined() const;

  CallContext context_;
  std::string key_;
  WriteOptions options_;
  int in_flight_;
  std::string token_;
  std::string upload_id_;  ///< empty: nothing to abort
  std::unique_ptr<CallRunner> runner_;
  std::vector<std::optional<UploadedPart>> parts_;
  int64_t total_bytes_ = 0;
  std::map<int, UploadedPart> held_;  ///< parts that an earlier try finished
  std::set<int> recorded_;            ///< parts whose checksum the store knows
  bool keep_ = false;                 ///< for another try
};

/// Scattered buffers of known total, in one request or in parts, as PlanUpload() says.
Result<ObjectInfo> WriteBuffers(const CallContext& context, const std::string& key, std::span<const Bytes> buffers,
                                const WriteOptions& options);

}  // namespace assay::storage
