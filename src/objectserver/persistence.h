// Where a store's records are made durable. Each call returns when what it says would survive a crash.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "objectserver/record.h"

namespace assay::objectserver {

/// Thread-safe; the store never changes the same record from two threads at once.
class Persistence {
 public:
  virtual ~Persistence() = default;
  virtual Status SaveBucket(const BucketRecord& bucket) = 0;
  virtual Status RemoveBucket(const std::string& bucket) = 0;
  /// Replaces the object of that key in one step.
  virtual Status SaveObject(const std::string& bucket, const ObjectRecord& object) = 0;
  virtual Status RemoveObject(const std::string& bucket, const std::string& key) = 0;
  virtual Status SaveUpload(const std::string& bucket, const Upload& upload) = 0;
  virtual Status SavePart(const std::string& bucket, const std::string& upload_id, const Part& part) = 0;
  virtual Status RemoveUpload(const std::string& bucket, const std::string& upload_id) = 0;
  virtual Result<std::unique_ptr<BlobWriter>> NewWriter(std::optional<int64_t> expected_bytes) = 0;
};

/// What was found of one bucket.
struct RecoveredBucket {
  BucketRecord record;
  std::vector<ObjectRecord> objects;
  std::vector<Upload> uploads;
};

/// What was found of a folder.
struct RecoveredStore {
  std::vector<RecoveredBucket> buckets;
  std::vector<std::string> warnings;  ///< one line for each damaged record, and for what stays because of them
};

/// Memory: everything is forgotten.
std::unique_ptr<Persistence> NewMemoryPersistence();

/// A folder. Recovers what it holds and removes what no record names: content of writes that were never finished,
/// and uploads whose object is there. A record that is damaged, or whose content is missing, is set aside (an upload
/// with all its parts), and while anything is set aside no content is removed: it may be what the record named. What
/// cannot be listed or read is an error: nothing is taken for absent.
Result<std::unique_ptr<Persistence>> OpenFolder(const std::string& root, RecoveredStore& found);

enum class Aside { kMoved, kCopied };

/// Moves or copies `path`, which lies below `root`, to root/damaged and adds a line on it to `warnings`. Where `damage`
/// is no content that makes no sense but an error of the disk or of access, that error is returned and nothing is done.
Status SetAside(const std::string& root, const std::string& path, const Status& damage, Aside how,
                std::vector<std::string>& warnings);

}  // namespace assay::objectserver
