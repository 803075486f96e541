#include "storage/memory/memory_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "storage/key_cursor.h"
#include "storage/store_checks.h"

namespace assay::storage {

struct MemoryStore::Object {
  ObjectInfo info;
  std::unique_ptr<std::byte[]> content;

  Bytes bytes() const { return {content.get(), static_cast<size_t>(info.size)}; }
};

namespace {

// Small enough for the bytes to be still in the second-level cache when the checksum reads them.
constexpr size_t kCopyBlock = 256 << 10;

double SecondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Copies block by block, so that a large copy can be cancelled; `after` sees each block just copied.
template <typename After>
bool CopyInBlocks(std::byte* to, Bytes from, CancelFlag cancel, const ProgressCallback& progress, After after) {
  for (size_t at = 0; at < from.size(); at += kCopyBlock) {
    if (IsCancelled(cancel)) {
      return false;
    }
    const Bytes block = from.subspan(at, std::min(kCopyBlock, from.size() - at));
    std::memcpy(to + at, block.data(), block.size());
    after(Bytes{to + at, block.size()});
    if (progress) {
      progress(static_cast<int64_t>(block.size()));
    }
  }
  return !IsCancelled(cancel);
}

}  // namespace

// Keeps what it was given in buffers of its own until Commit joins them.
class MemoryStore::Writer final : public ObjectWriter {
 public:
  Writer(MemoryStore& store, std::string key, WriteOptions options, std::string upload_id)
      : store_(store), key_(std::move(key)), options_(std::move(options)), upload_id_(std::move(upload_id)) {}
  ~Writer() override { Abort(); }

  Status Write(Bytes bytes) override {
    if (IsCancelled(options_.cancel)) {
      Abort();
      return CancelledStatus("write", store_.Uri(key_));
    }
    content_.insert(content_.end(), bytes.begin(), bytes.end());
    return Status::Ok();
  }

  Result<ObjectInfo> Commit() override {
    if (!store_.EndUpload(upload_id_)) {
      return Status::FailedPrecondition("cannot finish " + store_.Uri(key_) +
                                        ": its upload was aborted (write it again)");
    }
    const Bytes whole(content_);
    return store_.Publish(key_, std::span(&whole, 1), options_);
  }

  void Abort() override {
    store_.EndUpload(upload_id_);
    content_ = {};
  }

 private:
  MemoryStore& store_;
  const std::string key_;
  const WriteOptions options_;
  const std::string upload_id_;
  std::vector<std::byte> content_;
};

// Valid while the caller holds the store's lock.
class MemoryStore::Cursor final : public KeyCursor {
 public:
  explicit Cursor(const std::map<std::string, std::shared_ptr<const Object>>& objects)
      : objects_(objects), at_(objects.begin()) {}

  Result<std::optional<std::string>> Seek(const std::string& from) override {
    at_ = objects_.lower_bound(from);
    return Present();
  }
  Result<std::optional<std::string>> Next() override {
    ++at_;
    return Present();
  }
  Result<std::optional<ObjectInfo>> Describe() override { return std::optional(at_->second->info); }

 private:
  std::optional<std::string> Present() const {
    return at_ == objects_.end() ? std::nullopt : std::optional(at_->first);
  }
  const std::map<std::string, std::shared_ptr<const Object>>& objects_;
  std::map<std::string, std::shared_ptr<const Object>>::const_iterator at_;
};

MemoryStore::MemoryStore(std::string name) : name_(std::move(name)) {}

std::string MemoryStore::Uri(std::string_view key) const {
  return "mem://" + name_ + "/" + std::string(key);
}

Capabilities MemoryStore::capabilities() const {
  return {.conditional_create = true,
          .conditional_replace = true,
          .compose = true,
          .presign = false,
          .unfinished_uploads = true};
}

std::shared_ptr<const MemoryStore::Object> MemoryStore::Find(const std::string& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<const MemoryStore::Object>> MemoryStore::Open(std::string_view verb, const std::string& key,
                                                                     const std::string& if_match) const {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  auto object = Find(key);
  if (object == nullptr) {
    return MissingObjectStatus(verb, Uri(key));
  }
  if (!if_match.empty() && object->info.etag != if_match) {
    return ChangedObjectStatus(Uri(key), if_match, object->info.etag);
  }
  return object;
}

Result<std::optional<ObjectInfo>> MemoryStore::Stat(const std::string& key, CancelFlag cancel) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  const auto object = Find(key);
  return object == nullptr ? std::nullopt : std::optional(object->info);
}

Result<ObjectInfo> MemoryStore::Read(const std::string& key, std::span<const ReadPiece> pieces,
                                     const ReadOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Object> object, Open("read", key, options.if_match));
  ASSAY_RETURN_IF_ERROR(CheckPieces(pieces, object->info.size, Uri(key)));
  for (const ReadPiece& piece : pieces) {
    const Bytes from = object->bytes().subspan(static_cast<size_t>(piece.offset), piece.memory.size());
    if (!CopyInBlocks(piece.memory.data(), from, options.cancel, options.progress, [](Bytes) {})) {
      return CancelledStatus("read", Uri(key));
    }
  }
  return object->info;
}

Result<ObjectInfo> MemoryStore::ReadWhole(const std::string& key,
                                          const std::function<MutableBytes(int64_t size)>& allocate,
                                          const ReadOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Object> object, Open("read", key, options.if_match));
  const MutableBytes memory = allocate(object->info.size);
  if (static_cast<int64_t>(memory.size()) != object->info.size) {
    return Status::InvalidArgument("cannot read " + Uri(key) + ": the memory given for it has another size");
  }
  if (!CopyInBlocks(memory.data(), object->bytes(), options.cancel, options.progress, [](Bytes) {})) {
    return CancelledStatus("read", Uri(key));
  }
  return object->info;
}

std::vector<Status> MemoryStore::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<Status> statuses;
  statuses.reserve(reads.size());
  for (const ObjectRead& read : reads) {
    statuses.push_back(Read(read.key, std::span(&read.piece, 1), read.OptionsOr(options)).status());
  }
  return statuses;
}

Result<ObjectInfo> MemoryStore::Write(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  return Publish(key, buffers, options);
}

Result<ObjectInfo> MemoryStore::Publish(const std::string& key, std::span<const Bytes> buffers,
                                        const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckExpected(options, buffers, Uri(key)));
  auto object = std::make_shared<Object>();
  object->info = {.key = key,
                  .size = TotalBytes(buffers),
                  .modified = SecondsSinceEpoch(),
                  .content_type = options.content_type,
                  .metadata = MetadataOf(options)};
  object->content = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(object->info.size));
  uint32_t crc = 0;
  std::byte* to = object->content.get();
  for (const Bytes& buffer : buffers) {
    const auto add = [&crc](Bytes block) { crc = Crc32c(crc, block); };
    if (!CopyInBlocks(to, buffer, options.cancel, options.progress, add)) {
      return CancelledStatus("write", Uri(key));
    }
    to += buffer.size();
  }
  if (options.journal != nullptr) {
    ASSAY_RETURN_IF_ERROR(options.journal->BeforePublish());
  }
  object->info.checksum = MakeCrc32c(crc);
  return PutUnderKey(std::move(object), options);
}

Result<ObjectInfo> MemoryStore::PutUnderKey(std::shared_ptr<Object> object, const WriteOptions& options) {
  if (IsCancelled(options.cancel)) {
    return CancelledStatus("write", Uri(object->info.key));
  }
  const std::unique_lock lock(mutex_);
  const auto found = objects_.find(object->info.key);
  const ObjectInfo* existing = found == objects_.end() ? nullptr : &found->second->info;
  if (options.condition.kind == WriteCondition::Kind::kAbsent && existing != nullptr) {
    return WonEarlier(*existing, object->info.metadata)
               ? Result<ObjectInfo>(*existing)
               : ConditionFailedStatus(options.condition, Uri(object->info.key));
  }
  if (options.condition.kind == WriteCondition::Kind::kMatches &&
      (existing == nullptr || existing->etag != options.condition.etag)) {
    return ConditionFailedStatus(options.condition, Uri(object->info.key));
  }
  object->info.etag = std::to_string(++last_etag_);
  ObjectInfo info = object->info;
  objects_[info.key] = std::move(object);
  return info;
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  const std::string upload_id = RandomUid();
  {
    const std::unique_lock lock(mutex_);
    uploads_[upload_id] = {.key = key, .upload_id = upload_id, .started = SecondsSinceEpoch()};
  }
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, key, options, upload_id));
}

std::vector<Status> MemoryStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  std::vector<Status> statuses;
  statuses.reserve(writes.size());
  for (const ObjectWrite& write : writes) {
    statuses.push_back(Write(write.key, std::span(&write.content, 1), write.OptionsOr(options)).status());
  }
  return statuses;
}

Result<ListPage> MemoryStore::List(const ListOptions& options) {
  const std::shared_lock lock(mutex_);
  Cursor cursor(objects_);
  return ListThrough(cursor, options);
}

Status MemoryStore::Remove(const std::string& key) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  const std::unique_lock lock(mutex_);
  objects_.erase(key);
  return Status::Ok();
}

std::vector<Status> MemoryStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  std::vector<Status> statuses;
  statuses.reserve(keys.size());
  for (const std::string& key : keys) {
    statuses.push_back(Remove(key));
  }
  return statuses;
}

Result<ObjectInfo> MemoryStore::Copy(const std::string& from, const std::string& to, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Object> source, Open("copy", from, ""));
  const Bytes content = source->bytes();
  return Publish(to, std::span(&content, 1), CopyOptions(source->info, options));
}

Result<ObjectInfo> MemoryStore::Compose(std::span<const std::string> from, const std::string& to,
                                        const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  std::vector<std::shared_ptr<const Object>> sources;
  std::vector<Bytes> buffers;
  for (const std::string& key : from) {
    ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<const Object> source, Open("copy", key, ""));
    buffers.push_back(source->bytes());
    sources.push_back(std::move(source));
  }
  return Publish(to, buffers, options);
}

Result<std::string> MemoryStore::Presign(const std::string& key, std::string_view, int64_t, CancelFlag) {
  return Status::Unsupported("cannot presign " + Uri(key) + ": objects in memory have no URL (use s3, gs or oci)");
}

Result<std::vector<UnfinishedUpload>> MemoryStore::ListUploads(const std::string& prefix, CancelFlag) {
  std::vector<UnfinishedUpload> found;
  const std::shared_lock lock(mutex_);
  for (const auto& [id, upload] : uploads_) {
    if (upload.key.starts_with(prefix)) {
      found.push_back(upload);
    }
  }
  return found;
}

bool MemoryStore::EndUpload(const std::string& upload_id) {
  const std::unique_lock lock(mutex_);
  return uploads_.erase(upload_id) == 1;
}

Status MemoryStore::AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag) {
  return EndUpload(upload_id) ? Status::Ok()
                              : Status::NotFound("cannot abort upload " + upload_id + " of " + Uri(key) +
                                                 ": there is no such upload (list the unfinished ones)");
}

}  // namespace assay::storage
