// Whether a store that speaks S3's language keeps conditions of writes, found by trying.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "storage/object_store.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// The request that makes an object visible, to which a condition is tied.
enum class Publishing { kPut, kComplete, kCopy };

/// Of one bucket. Some of S3's kin take If-None-Match and If-Match and overwrite all the same: before the first write
/// under a condition, one that cannot hold is sent for an object of the probe's own, and must be refused.
/// Safe for use by many threads; while one tries, those that need its answer wait.
class ConditionProbe {
 public:
  /// Copies within the bucket; what became of it.
  using Copy = std::function<CallResult(const ObjectInfo& source, const std::string& to, const WriteOptions& options)>;

  ConditionProbe(const CallContext& context, Copy copy) : context_(context), copy_(std::move(copy)) {}

  /// Ok where conditions of that kind are kept on that way: the store has refused the write as one whose condition does
  /// not hold. Unsupported where they are not: it has written, or said that it does not know them. Another error where
  /// it says neither, or the object of the trial, which lies beside `key`, could not be removed again. Tried once: what
  /// was found is remembered, and that copies may not be made for a trial: then they are not known to keep conditions.
  /// A copy that is refused here goes another way, so what its trial has left is told by the first check of that.
  Status Check(Publishing way, const WriteOptions& options, const std::string& key);

 private:
  using Trial = std::pair<Publishing, WriteCondition::Kind>;

  /// Notes in `kept_` what it finds, and in `untold_` what a copy leaves.
  Status Try(const Trial& trial, const std::string& probe, CancelFlag cancel);
  CallResult Remove(const std::string& probe) const;
  CallResult WriteAgain(Publishing way, const ObjectInfo& standing, const WriteOptions& options);

  CallContext context_;
  Copy copy_;
  std::mutex mutex_;
  std::map<Trial, bool> kept_;  // guarded by mutex_
  /// Of trials of copies whose objects stay, until a write has failed that says so.
  Status untold_;  // guarded by mutex_
};

/// What a user is told of a condition that the store does not keep.
Status ConditionNotKeptStatus(const WriteCondition& condition, std::string_view uri);

}  // namespace assay::storage
