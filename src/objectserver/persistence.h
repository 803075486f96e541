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

/// Memory: everything is forgotten.
std::unique_ptr<Persistence> NewMemoryPersistence();

/// A folder. Recovers what it holds and removes what no record names: content of writes that were never finished,
/// and uploads whose object is there.
Result<std::unique_ptr<Persistence>> OpenFolder(const std::string& root, std::vector<RecoveredBucket>& found);

}  // namespace assay::objectserver
