// A store that hands every operation on: what decorators override the rest of.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/object_store.h"

namespace assay::storage {

class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  std::string Uri(std::string_view key) const override { return inner_->Uri(key); }
  Capabilities capabilities() const override { return inner_->capabilities(); }
  MemoryPool* memory_pool() override { return inner_->memory_pool(); }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override {
    return inner_->Stat(key, cancel);
  }
  Status ExplainAbsence(const std::string& key, CancelFlag cancel = nullptr) override {
    return inner_->ExplainAbsence(key, cancel);
  }
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override {
    return inner_->Read(key, pieces, options);
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override {
    return inner_->ReadWhole(key, allocate, options);
  }
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override {
    return inner_->ReadMany(reads, options);
  }
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override {
    return inner_->Write(key, buffers, options);
  }
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override {
    return inner_->OpenWriter(key, options);
  }
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override {
    return inner_->WriteMany(writes, options);
  }
  Result<ListPage> List(const ListOptions& options) override { return inner_->List(options); }
  Status Remove(const std::string& key) override { return inner_->Remove(key); }
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override {
    return inner_->RemoveMany(keys, cancel);
  }
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override {
    return inner_->Copy(from, to, options);
  }
  ServicePlace place() const override { return inner_->place(); }
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override {
    return inner_->CopyFrom(source, from, to, options);
  }
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override {
    return inner_->Compose(from, to, options);
  }
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override {
    return inner_->Presign(key, method, seconds, cancel);
  }
  Status MakeBucket(CancelFlag cancel = nullptr) override { return inner_->MakeBucket(cancel); }
  Status RemoveBucket(CancelFlag cancel = nullptr) override { return inner_->RemoveBucket(cancel); }
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override {
    return inner_->ListUploads(prefix, cancel);
  }
  Status AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel = nullptr) override {
    return inner_->AbortUpload(key, upload_id, cancel);
  }
  bool GiveUpUpload(const std::string& key, const std::string& upload_id) override {
    return inner_->GiveUpUpload(key, upload_id);
  }

 protected:
  ObjectStore& inner() { return *inner_; }

 private:
  const std::shared_ptr<ObjectStore> inner_;
};

}  // namespace assay::storage
