// A write in parts of which many travel at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/publish.h"
#include "storage/transfer/put_call.h"
#include "storage/transfer/upload_parts.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// A digest of what a store is told of an object when its upload begins, for ResumableUpload::terms.
std::string UploadTerms(const CallContext& context, const WriteOptions& write);
/// Whether that is an upload in parts: stores may have other kinds, whose terms begin otherwise.
bool IsInParts(const ResumableUpload& upload);
/// Whether an upload in parts that begins now goes on with WriteOptions::resume.
bool GoesOn(const CallContext& context, const WriteOptions& options);

/// Gives an upload in parts up, within StoreOptions::give_up_seconds. Whether nothing is left of it: what cannot be
/// aborted now stays in the list of unfinished uploads.
Task<bool> GiveUpParts(const CallContext& context, std::string key, std::string upload_id);
/// Likewise of WriteOptions::resume, if that is one. Once the journal tells of a write that does not go on with it, not
/// before: one that is refused may come again as the first did.
Task<void> GiveUpEarlier(const CallContext& context, const std::string& key, const WriteOptions& options);

/// One write in parts. Nothing is visible before Complete(); the destructor aborts what was not completed, unless it is
/// kept for another try (WriteOptions::journal). Belongs to one thread.
class MultipartUpload {
 public:
  MultipartUpload(const CallContext& context, std::string key, const WriteOptions& options, int in_flight);
  ~MultipartUpload();
  MultipartUpload(const MultipartUpload&) = delete;
  MultipartUpload& operator=(const MultipartUpload&) = delete;

  /// Asks the store for an upload, or for what it holds of the one to go on with.
  Task<Status> Begin();
  /// After Begin(), where the parts to come can be sent again as they are cut now.
  Task<void> TellJournal(int64_t part_bytes) const;
  /// Sends the next part; `pieces` must live until `release` is called (on the store's thread), or this object is gone.
  /// Without `release` the part can be sent again later, should the store hold another.
  void AddPart(Pieces pieces, std::function<void()> release = nullptr) {
    AddPart(parts_.next(), std::move(pieces), std::move(release));
  }
  /// Likewise part `number` (from 1): those before it may come later.
  void AddPart(int number, Pieces pieces, std::function<void()> release);
  /// Adds the next part, made by the store itself out of what it holds.
  using MakeRemote = std::function<Outgoing(const std::string& upload_id, int number)>;
  using ReadRemote = std::function<Dialect::Read<ObjectInfo>(const http::Response&)>;
  void AddRemotePart(int64_t bytes, MakeRemote make, ReadRemote read);
  /// Why no more parts are sent; ok while they are.
  Status status() const { return calls_->status(); }
  /// Until fewer than `parts` are on their way.
  CallGroup::Below UntilBelow(int parts) { return calls_->UntilBelow(parts); }
  /// Publishes the object once all parts have arrived. Parts that the store holds in another copy than it told are
  /// named as they stand, if they are proven to hold what was sent.
  Task<Result<ObjectInfo>> Complete();
  /// What the request that publishes the object failed with last.
  const std::optional<Failure>& refusal() const { return refusal_; }
  /// What the destructor does, without holding a thread.
  Task<void> Abort();

 private:
  Task<Status> BeginNew();
  /// Fills `held_`. No upload id where there is nothing to go on with: the store does not know that upload any more, or
  /// does not let us ask.
  Task<Status> BeginAgain();
  /// All parts that the store holds of `upload_id`, by their numbers.
  Task<CallResult> ListParts(const std::string& upload_id, std::map<int, UploadedPart>& listed) const;
  void NewPart(int number, int64_t bytes, Pieces pieces);
  /// Whether the store has part `number`, and it is of just these bytes.
  bool TakeHeld(int number, const Pieces& pieces, int64_t bytes);
  Task<Status> CheckBeforePublish();
  void Progress(const CallResult& result, int64_t bytes) const;
  void SendPart(int number, Pieces pieces, PutCall::MayReissue may_reissue, PutCall::OnDone done);
  std::optional<Failure> TakePart(int number, int64_t bytes, http::Response& response, const Checksum& sent);
  /// After the store has refused to put the parts together that were named (`refused`): names those that stand by
  /// `listed`, where they hold what was sent, and sends the others again.
  Task<Status> Reconcile(const Status& refused, const std::map<int, UploadedPart>& listed);
  Publication PublicationOf(const std::optional<Checksum>& whole) const;
  /// SettlePublish(), and whether the upload is kept.
  Task<Result<ObjectInfo>> Settle(const std::optional<Checksum>& whole, const CallResult& result);
  Task<CallResult> SendComplete(const std::optional<Checksum>& whole, ObjectInfo& info) const;
  /// Whether the answers have told checksums of what was to be published.
  bool IsTold(const std::optional<Checksum>& whole, const ObjectInfo& info) const;
  /// Of an upload that was answered as published by `info`: asks what stands there where no answer has told a checksum,
  /// or that one no etag.
  Task<Result<ObjectInfo>> Prove(const std::optional<Checksum>& whole, ObjectInfo info) const;
  Task<Result<ObjectInfo>> Publish(const std::optional<Checksum>& whole);

  CallContext context_;
  std::string key_;
  WriteOptions options_;
  int in_flight_;
  const double deadline_;  ///< of all requests together
  std::string token_;
  std::string upload_id_;  ///< empty: nothing to abort
  std::unique_ptr<CallGroup> calls_;
  std::mutex mutex_;                  ///< while parts are on their way: the store's thread notes which have arrived
  UploadParts parts_;                 // guarded by mutex_
  bool remote_ = false;               ///< some of the parts are the store's own copies
  std::map<int, UploadedPart> held_;  ///< parts that an earlier try finished, as the store lists them
  bool keep_ = false;                 ///< for another try
  /// The largest part whose answer lists will repeat (Dialect::ListProves()): a store may know less of larger ones. The
  /// store's thread's.
  int64_t proven_bytes_ = 0;
  bool proves_all_ = true;  ///< of the parts that were answered; the store's thread's
  std::optional<Failure> refusal_;
};

}  // namespace assay::storage
