// The object store behind every dialect: buckets, objects, unfinished uploads. All of it may be called from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "objectserver/persistence.h"
#include "objectserver/record.h"

namespace assay::objectserver {

enum class StoreCode {
  kOk,
  kNoSuchBucket,
  kBucketExists,
  kBucketNotEmpty,
  kNoSuchKey,
  kNoSuchUpload,
  kConditionFailed,
  kInvalidKey,
  kFailed,  ///< the disk
};

/// Immutable once it is in the store.
using ObjectPointer = std::shared_ptr<const ObjectRecord>;

/// How an operation ended; `object` is what it wrote, found or removed.
struct StoreOutcome {
  StoreCode code = StoreCode::kOk;
  ObjectPointer object;
  std::string message;  ///< of kFailed
  bool ok() const { return code == StoreCode::kOk; }
};

/// Judges the object that is there now (null: none) in the same step as the change. Returns kOk to go on.
using Condition = std::function<StoreCode(const ObjectRecord* current)>;

struct ListQuery {
  std::string prefix;
  std::string start_after;  ///< keys beyond it
  std::string start_at;     ///< keys from it on
  std::string end_before;   ///< keys below it; empty: no end
  std::string delimiter;
  size_t max_keys = 1000;
  double hide_newer_than = 0;  ///< a stale list: objects written after that time are not shown; 0: all are
};

struct ListResult {
  StoreCode code = StoreCode::kOk;
  std::vector<ObjectPointer> objects;
  std::vector<std::string> prefixes;
  bool truncated = false;
  std::string next_after;  ///< `start_after` of the next page
  std::string next_key;    ///< the first key that was left out
};

class Store {
 public:
  /// `root` is a folder, made if missing, or "memory".
  static Result<std::unique_ptr<Store>> Open(const std::string& root);
  ~Store();

  /// One line for each damaged record that was found in the folder, and for what stays in it because of them.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::vector<BucketRecord> Buckets() const;
  std::optional<BucketRecord> FindBucket(const std::string& name) const;
  StoreOutcome CreateBucket(const std::string& name, const std::string& region);
  StoreOutcome RemoveBucket(const std::string& name);

  /// For content that comes in.
  Result<std::unique_ptr<BlobWriter>> NewWriter(std::optional<int64_t> expected_bytes);

  StoreOutcome Find(const std::string& bucket, const std::string& key) const;
  /// From now on the conditions of writes are not judged, as some stores of S3's interface do it. Before the first
  /// request.
  void IgnoreConditions() { ignores_conditions_ = true; }

  /// Puts `object` in place of what is there; gives it its generation and times.
  StoreOutcome Put(const std::string& bucket, ObjectRecord object, const Condition& condition);
  StoreOutcome Remove(const std::string& bucket, const std::string& key, const Condition& condition);
  /// Changes what is said of an object, not its content: its metageneration rises.
  StoreOutcome UpdateAttributes(const std::string& bucket, const std::string& key, const Condition& condition,
                                const std::function<void(Attributes& attributes)>& change);
  ListResult List(const std::string& bucket, const ListQuery& query) const;

  /// Returns the new upload's id in `message` of the outcome.
  StoreOutcome CreateUpload(const std::string& bucket, Upload upload);
  std::optional<Upload> FindUpload(const std::string& bucket, const std::string& id) const;
  /// The same without the parts, of which there may be thousands.
  std::optional<Upload> FindUploadHead(const std::string& bucket, const std::string& id) const;
  StoreOutcome PutPart(const std::string& bucket, const std::string& id, Part part);
  StoreOutcome AbortUpload(const std::string& bucket, const std::string& key, const std::string& id);
  std::vector<Upload> Uploads(const std::string& bucket) const;
  /// Publishes `object`, made of the upload's parts, and forgets the upload.
  StoreOutcome CompleteUpload(const std::string& bucket, const std::string& id, ObjectRecord object,
                              const Condition& condition);

 private:
  struct Bucket;
  using BucketPointer = std::shared_ptr<Bucket>;
  static constexpr size_t kStripes = 256;

  explicit Store(std::unique_ptr<Persistence> persistence);
  void Adopt(RecoveredBucket found);
  BucketPointer BucketOf(const std::string& name) const;
  std::mutex& StripeOf(const std::string& key);
  uint64_t NextGeneration(double now);
  StoreCode Judge(const Condition& condition, const ObjectRecord* current) const {
    return condition && !ignores_conditions_ ? condition(current) : StoreCode::kOk;
  }
  StoreOutcome PutLocked(Bucket& bucket, ObjectRecord object, const Condition& condition);

  std::unique_ptr<Persistence> persistence_;
  std::vector<std::string> warnings_;
  mutable std::shared_mutex mutex_;  ///< guards buckets_
  std::map<std::string, BucketPointer> buckets_;
  std::array<std::mutex, kStripes> stripes_;  ///< one writer a key: held while its record is made durable
  std::atomic<uint64_t> last_generation_ = 0;
  bool ignores_conditions_ = false;
};

/// Seconds since 1970.
double UnixSeconds();

}  // namespace assay::objectserver
