#include "objectserver/store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "objectserver/object_key.h"

namespace assay::objectserver {

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct Store::Bucket {
  BucketRecord record;
  /// Writers of objects hold it shared, the removal of the bucket alone.
  std::shared_mutex life;
  bool removed = false;

  mutable std::shared_mutex mutex;  ///< guards what follows
  std::map<std::string, ObjectPointer> objects;
  std::map<std::string, Upload> uploads;

  ObjectPointer Find(const std::string& key) const {
    const std::shared_lock lock(mutex);
    const auto found = objects.find(key);
    return found == objects.end() ? nullptr : found->second;
  }
};

Store::Store(std::unique_ptr<Persistence> persistence) : persistence_(std::move(persistence)) {}

Store::~Store() {
  // Before the objects: with the persistence gone, files whose last record goes stay.
  persistence_.reset();
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& root) {
  if (root == "memory") {
    return std::unique_ptr<Store>(new Store(NewMemoryPersistence()));
  }
  RecoveredStore found;
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Persistence> persistence, OpenFolder(root, found));
  auto store = std::unique_ptr<Store>(new Store(std::move(persistence)));
  for (RecoveredBucket& bucket : found.buckets) {
    store->Adopt(std::move(bucket));
  }
  store->warnings_ = std::move(found.warnings);
  return store;
}

void Store::Adopt(RecoveredBucket found) {
  auto bucket = std::make_shared<Bucket>();
  bucket->record = std::move(found.record);
  for (ObjectRecord& object : found.objects) {
    last_generation_ = std::max(last_generation_.load(), object.generation);
    auto pointer = std::make_shared<const ObjectRecord>(std::move(object));
    bucket->objects.emplace(pointer->key, pointer);
  }
  for (Upload& upload : found.uploads) {
    bucket->uploads.emplace(upload.id, std::move(upload));
  }
  buckets_.emplace(bucket->record.name, bucket);
}

Store::BucketPointer Store::BucketOf(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  const auto found = buckets_.find(name);
  return found == buckets_.end() ? nullptr : found->second;
}

std::mutex& Store::StripeOf(const std::string& key) {
  return stripes_[std::hash<std::string>()(key) % kStripes];
}

/// Microseconds, as Google's generations look, and always rising.
uint64_t Store::NextGeneration(double now) {
  const auto by_clock = static_cast<uint64_t>(now * 1e6);
  uint64_t last = last_generation_.load();
  uint64_t next = 0;
  do {
    next = std::max(by_clock, last + 1);
  } while (!last_generation_.compare_exchange_weak(last, next));
  return next;
}

std::vector<BucketRecord> Store::Buckets() const {
  const std::shared_lock lock(mutex_);
  std::vector<BucketRecord> records;
  for (const auto& [name, bucket] : buckets_) {
    records.push_back(bucket->record);
  }
  return records;
}

std::optional<BucketRecord> Store::FindBucket(const std::string& name) const {
  const BucketPointer bucket = BucketOf(name);
  return bucket ? std::optional(bucket->record) : std::nullopt;
}

StoreOutcome Store::CreateBucket(const std::string& name, const std::string& region) {
  const std::unique_lock lock(mutex_);
  if (buckets_.contains(name)) {
    return {StoreCode::kBucketExists, nullptr, {}};
  }
  auto bucket = std::make_shared<Bucket>();
  bucket->record = {name, UnixSeconds(), region};
  if (const Status status = persistence_->SaveBucket(bucket->record); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  buckets_.emplace(name, std::move(bucket));
  return {};
}

StoreOutcome Store::RemoveBucket(const std::string& name) {
  const BucketPointer bucket = BucketOf(name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  // The bucket's lock before the store's: who holds the former may look buckets up.
  const std::unique_lock life(bucket->life);
  if (bucket->removed) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  if (!bucket->objects.empty()) {
    return {StoreCode::kBucketNotEmpty, nullptr, {}};
  }
  if (const Status status = persistence_->RemoveBucket(name); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  bucket->removed = true;
  const std::unique_lock lock(mutex_);
  buckets_.erase(name);
  return {};
}

Result<std::unique_ptr<BlobWriter>> Store::NewWriter(std::optional<int64_t> expected_bytes) {
  return persistence_->NewWriter(expected_bytes);
}

StoreOutcome Store::Find(const std::string& bucket_name, const std::string& key) const {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  ObjectPointer object = bucket->Find(key);
  return object ? StoreOutcome{StoreCode::kOk, std::move(object), {}}
                : StoreOutcome{StoreCode::kNoSuchKey, nullptr, {}};
}

StoreOutcome Store::Put(const std::string& bucket_name, ObjectRecord object, const Condition& condition) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  const std::shared_lock life(bucket->life);
  const std::lock_guard stripe(StripeOf(object.key));
  return PutLocked(*bucket, std::move(object), condition);
}

StoreOutcome Store::PutLocked(Bucket& bucket, ObjectRecord object, const Condition& condition) {
  if (bucket.removed) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  if (!IsObjectKey(object.key)) {
    return {StoreCode::kInvalidKey, nullptr, {}};
  }
  const ObjectPointer current = bucket.Find(object.key);
  if (const StoreCode code = Judge(condition, current.get()); code != StoreCode::kOk) {
    return {code, current, {}};
  }
  object.modified = UnixSeconds();
  object.created = object.created > 0 ? object.created : object.modified;
  object.generation = NextGeneration(object.modified);
  if (const Status status = persistence_->SaveObject(bucket.record.name, object); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  auto written = std::make_shared<const ObjectRecord>(std::move(object));
  const std::unique_lock lock(bucket.mutex);
  bucket.objects[written->key] = written;
  return {StoreCode::kOk, written, {}};
}

StoreOutcome Store::Remove(const std::string& bucket_name, const std::string& key, const Condition& condition) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  const std::shared_lock life(bucket->life);
  const std::lock_guard stripe(StripeOf(key));
  const ObjectPointer current = bucket->Find(key);
  if (const StoreCode code = Judge(condition, current.get()); code != StoreCode::kOk) {
    return {code, current, {}};
  }
  if (!current) {
    return {StoreCode::kNoSuchKey, nullptr, {}};
  }
  if (const Status status = persistence_->RemoveObject(bucket_name, key); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  const std::unique_lock lock(bucket->mutex);
  bucket->objects.erase(key);
  return {StoreCode::kOk, current, {}};
}

StoreOutcome Store::UpdateAttributes(const std::string& bucket_name, const std::string& key, const Condition& condition,
                                     const std::function<void(Attributes& attributes)>& change) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  const std::shared_lock life(bucket->life);
  const std::lock_guard stripe(StripeOf(key));
  const ObjectPointer current = bucket->Find(key);
  if (!current) {
    return {StoreCode::kNoSuchKey, nullptr, {}};
  }
  if (const StoreCode code = Judge(condition, current.get()); code != StoreCode::kOk) {
    return {code, current, {}};
  }
  ObjectRecord object = *current;
  change(object.attributes);
  ++object.metageneration;
  object.modified = UnixSeconds();
  if (const Status status = persistence_->SaveObject(bucket_name, object); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  auto written = std::make_shared<const ObjectRecord>(std::move(object));
  const std::unique_lock lock(bucket->mutex);
  bucket->objects[key] = written;
  return {StoreCode::kOk, written, {}};
}

namespace {

using Objects = std::map<std::string, ObjectPointer>;

Objects::const_iterator FirstOf(const Objects& objects, const ListQuery& query) {
  const std::string& start = std::max(query.prefix, query.start_at);
  return !query.start_after.empty() && query.start_after >= start ? objects.upper_bound(query.start_after)
                                                                  : objects.lower_bound(start);
}

/// The first key that does not begin with `prefix`, of those that come after it.
Objects::const_iterator Beyond(const Objects& objects, std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) {
    prefix.pop_back();
  }
  if (prefix.empty()) {
    return objects.end();
  }
  ++prefix.back();
  return objects.lower_bound(prefix);
}

/// "a/b/" of key "a/b/c" for prefix "a/" and delimiter "/"; empty where the key stands for itself.
std::string GroupOf(const std::string& key, const ListQuery& query) {
  const size_t cut = query.delimiter.empty() ? std::string::npos : key.find(query.delimiter, query.prefix.size());
  return cut == std::string::npos ? "" : key.substr(0, cut + query.delimiter.size());
}

}  // namespace

ListResult Store::List(const std::string& bucket_name, const ListQuery& query) const {
  const BucketPointer bucket = BucketOf(bucket_name);
  ListResult result;
  if (!bucket) {
    result.code = StoreCode::kNoSuchBucket;
    return result;
  }
  const std::shared_lock lock(bucket->mutex);
  const Objects& objects = bucket->objects;
  auto at = FirstOf(objects, query);
  while (at != objects.end() && at->first.starts_with(query.prefix) &&
         (query.end_before.empty() || at->first < query.end_before)) {
    if (query.hide_newer_than > 0 && at->second->created > query.hide_newer_than) {
      ++at;
      continue;
    }
    const std::string group = GroupOf(at->first, query);
    const bool given_before = !group.empty() && query.start_after == group;  // by an earlier page
    if (!given_before && result.objects.size() + result.prefixes.size() == query.max_keys) {
      result.truncated = query.max_keys > 0;
      result.next_key = at->first;
      break;
    }
    if (group.empty()) {
      result.objects.push_back(at->second);
      result.next_after = at->first;
      ++at;
      continue;
    }
    if (!given_before) {
      result.prefixes.push_back(group);
      result.next_after = group;
    }
    at = Beyond(objects, group);
  }
  return result;
}

StoreOutcome Store::CreateUpload(const std::string& bucket_name, Upload upload) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  if (!IsObjectKey(upload.key)) {
    return {StoreCode::kInvalidKey, nullptr, {}};
  }
  upload.id = RandomUid();
  upload.initiated = UnixSeconds();
  const std::shared_lock life(bucket->life);
  if (bucket->removed) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  if (const Status status = persistence_->SaveUpload(bucket_name, upload); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  const std::unique_lock lock(bucket->mutex);
  const std::string id = upload.id;
  bucket->uploads.emplace(id, std::move(upload));
  return {StoreCode::kOk, nullptr, id};
}

std::optional<Upload> Store::FindUpload(const std::string& bucket_name, const std::string& id) const {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return std::nullopt;
  }
  const std::shared_lock lock(bucket->mutex);
  const auto found = bucket->uploads.find(id);
  return found == bucket->uploads.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Upload> Store::FindUploadHead(const std::string& bucket_name, const std::string& id) const {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return std::nullopt;
  }
  const std::shared_lock lock(bucket->mutex);
  const auto found = bucket->uploads.find(id);
  if (found == bucket->uploads.end()) {
    return std::nullopt;
  }
  const Upload& upload = found->second;
  return Upload{
      upload.id,    upload.key, upload.initiated, upload.attributes, upload.checksum_kind, upload.composite_checksum,
      upload.notes, {}};
}

StoreOutcome Store::PutPart(const std::string& bucket_name, const std::string& id, Part part) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  const std::shared_lock life(bucket->life);
  const std::lock_guard stripe(StripeOf(id + '#' + std::to_string(part.number)));
  if (!FindUploadHead(bucket_name, id)) {
    return {StoreCode::kNoSuchUpload, nullptr, {}};
  }
  part.modified = UnixSeconds();
  if (const Status status = persistence_->SavePart(bucket_name, id, part); !status.ok()) {
    return {StoreCode::kFailed, nullptr, status.message()};
  }
  const std::unique_lock lock(bucket->mutex);
  const auto found = bucket->uploads.find(id);
  if (found == bucket->uploads.end()) {
    return {StoreCode::kNoSuchUpload, nullptr, {}};  // aborted meanwhile
  }
  found->second.parts[part.number] = std::move(part);
  return {};
}

StoreOutcome Store::AbortUpload(const std::string& bucket_name, const std::string& key, const std::string& id) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  {
    const std::unique_lock lock(bucket->mutex);
    const auto found = bucket->uploads.find(id);
    if (found == bucket->uploads.end() || found->second.key != key) {
      return {StoreCode::kNoSuchUpload, nullptr, {}};
    }
    bucket->uploads.erase(found);
  }
  const Status status = persistence_->RemoveUpload(bucket_name, id);
  return status.ok() ? StoreOutcome{} : StoreOutcome{StoreCode::kFailed, nullptr, status.message()};
}

std::vector<Upload> Store::Uploads(const std::string& bucket_name) const {
  std::vector<Upload> uploads;
  if (const BucketPointer bucket = BucketOf(bucket_name)) {
    const std::shared_lock lock(bucket->mutex);
    for (const auto& [id, upload] : bucket->uploads) {
      uploads.push_back(upload);
    }
  }
  std::ranges::sort(uploads, [](const Upload& a, const Upload& b) {
    return a.key != b.key ? a.key < b.key : a.initiated < b.initiated;
  });
  return uploads;
}

StoreOutcome Store::CompleteUpload(const std::string& bucket_name, const std::string& id, ObjectRecord object,
                                   const Condition& condition) {
  const BucketPointer bucket = BucketOf(bucket_name);
  if (!bucket) {
    return {StoreCode::kNoSuchBucket, nullptr, {}};
  }
  object.upload_id = id;
  const std::shared_lock life(bucket->life);
  const std::lock_guard stripe(StripeOf(object.key));
  if (!FindUploadHead(bucket_name, id)) {
    return {StoreCode::kNoSuchUpload, nullptr, {}};
  }
  StoreOutcome outcome = PutLocked(*bucket, std::move(object), condition);
  if (!outcome.ok()) {
    return outcome;
  }
  // The object is published: an upload that stays behind now is found and removed at the next start.
  if (const Status status = persistence_->RemoveUpload(bucket_name, id); !status.ok()) {
    outcome.message = status.message();
  }
  const std::unique_lock lock(bucket->mutex);
  bucket->uploads.erase(id);
  return outcome;
}

}  // namespace assay::objectserver
