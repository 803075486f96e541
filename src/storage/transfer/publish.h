// Whether the object that stands after a write is the one that was sent.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/task.h"
#include "storage/object_store.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// A write that publishes an object.
struct Publication {
  std::string key{};
  /// In the object's metadata; empty: the write carries none.
  std::string token{};
  /// As the answer named it; empty: it did not.
  std::string etag{};
  std::optional<int64_t> bytes{};  ///< nothing where the content does not pass through here
  /// Of what was sent, where that is known; called where it is needed, for it may cost a pass.
  std::function<std::optional<Checksum>()> checksum{};
};

/// The token of a write: the caller's, or one made here.
std::string TokenOf(const WriteOptions& options);

bool FailedWith(const CallResult& result, FailureClass kind);

/// Of bytes that are not published yet, a part or a body that was refused: they are sent again where the store computed
/// another checksum. Nothing where `stored` is missing or of another kind.
std::optional<Failure> CompareChecksums(const Checksum& sent, const std::optional<Checksum>& stored);
/// Likewise of an object that the answer says is published now: nothing is sent again.
std::optional<Failure> ComparePublished(const Checksum& sent, const std::optional<Checksum>& stored);

/// What became of a publishing request that ended with an error. Where it was refused, an earlier attempt may have been
/// carried out and its answer lost: nobody can tell, for what carries requests sends them again by itself. The object
/// that stands is then the one we wrote: its token is ours, and it is what was sent, or the error names what stands
/// there. May ask the store.
Task<Result<ObjectInfo>> SettlePublish(const CallContext& context, Publication sent, CallResult result);

/// Of a write that the store says it has published: what stands there, if that is ours (its token or etag says so); an
/// error where that is not what was sent. Nothing where nobody can tell any more, for the store does not say what
/// stands there, or another has written or removed it since: the write counts as it was answered. Asks the store.
Task<Result<std::optional<ObjectInfo>>> CheckPublished(const CallContext& context, Publication sent);

/// Likewise by what the answer itself says of the object. Asks the store only what stands there where that differs.
Task<Status> CheckTold(const CallContext& context, Publication sent, ObjectInfo told);

/// Whether an upload that ended so is kept for another try (WriteOptions::journal): what the network ended can be gone
/// on with; what was refused, given up or damaged cannot.
bool KeepsUpload(const WriteOptions& options, const Status& status, const std::optional<Failure>& failure);

}  // namespace assay::storage
