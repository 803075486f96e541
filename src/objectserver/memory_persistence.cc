#include <unistd.h>

#include "objectserver/persistence.h"

namespace assay::objectserver {
namespace {

/// A quarter of the machine's memory: what large objects that are overwritten need for the next ones.
size_t MaxKeptBytes() {
  return static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) / 4;
}

class MemoryPersistence : public Persistence {
 public:
  Status SaveBucket(const BucketRecord&) override { return Status::Ok(); }
  Status RemoveBucket(const std::string&) override { return Status::Ok(); }
  Status SaveObject(const std::string&, const ObjectRecord&) override { return Status::Ok(); }
  Status RemoveObject(const std::string&, const std::string&) override { return Status::Ok(); }
  Status SaveUpload(const std::string&, const Upload&) override { return Status::Ok(); }
  Status SavePart(const std::string&, const std::string&, const Part&) override { return Status::Ok(); }
  Status RemoveUpload(const std::string&, const std::string&) override { return Status::Ok(); }
  Result<std::unique_ptr<BlobWriter>> NewWriter(std::optional<int64_t> expected_bytes) override {
    return NewMemoryWriter(pool_, expected_bytes);
  }

 private:
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(MaxKeptBytes());
};

}  // namespace

std::unique_ptr<Persistence> NewMemoryPersistence() {
  return std::make_unique<MemoryPersistence>();
}

}  // namespace assay::objectserver
