// A store in a folder:
//
//     format                                "assay object store 1"
//     data/ID                               content, immutable, named by records
//     buckets/NAME/bucket.json
//     buckets/NAME/objects/SHA256-OF-KEY    the record of an object
//     buckets/NAME/uploads/ID/upload.json   an unfinished upload
//     buckets/NAME/uploads/ID/NUMBER        the record of a part
//     damaged/...                           what could not be read at a start, under the path it had
//
// Content is synced before the record that names it is renamed into place and its folder synced: a crash leaves the old
// object or the new one. What no record names is junk, removed at the next start at which nothing is damaged.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/sync_folder.h"
#include "base/text.h"
#include "objectserver/persistence.h"
#include "objectserver/record_json.h"
#include "objectserver/store.h"

namespace assay::objectserver {
namespace {

constexpr std::string_view kFormat = "assay object store 1\n";
constexpr const char* kDamaged = "damaged";

/// Names in a folder, without "." and ".."; none when it does not exist. What cannot be listed is no empty folder:
/// content would be taken for junk.
Result<std::vector<std::string>> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename());
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    return ErrnoStatus(error.value(), "list folder", path);
  }
  return names;
}

/// Nothing where there is none. What cannot be looked at is not absent.
Result<std::optional<int64_t>> SizeOfFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    return std::optional<int64_t>(info.st_size);
  }
  if (errno != ENOENT && errno != ENOTDIR) {
    return ErrnoStatus(errno, "look at", path);
  }
  return std::optional<int64_t>();
}

Result<bool> IsThere(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOfFile(path));
  return size.has_value();
}

Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status::Io("cannot remove " + path + ": " + error.message()) : Status::Ok();
}

class FolderPersistence : public Persistence {
 public:
  FolderPersistence(std::string root, FileDescriptor lock)
      : root_(std::move(root)),
        lock_(std::move(lock)),
        data_(std::make_shared<DataFolder>(root_ + "/data")),
        found_data_(std::make_shared<DataFolder>(data_->path)) {}
  ~FolderPersistence() override {
    data_->keeps_files = true;
    found_data_->keeps_files = true;
  }

  Status Recover(RecoveredStore& found);

  Status SaveBucket(const BucketRecord& bucket) override {
    const std::string folder = BucketFolder(bucket.name);
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder + "/objects"));
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder + "/uploads"));
    ASSAY_RETURN_IF_ERROR(WriteRecord(folder + "/bucket.json", BucketToJson(bucket)));
    return SyncFolder(root_ + "/buckets");
  }
  Status RemoveBucket(const std::string& bucket) override {
    // Without this file it is no bucket: the rest may be removed at leisure.
    ASSAY_RETURN_IF_ERROR(RemoveRecord(BucketFolder(bucket), "bucket.json"));
    return RemoveTree(BucketFolder(bucket));
  }
  Status SaveObject(const std::string& bucket, const ObjectRecord& object) override {
    return WriteRecord(ObjectsFolder(bucket) + '/' + Sha256Hex(object.key), ObjectToJson(object));
  }
  Status RemoveObject(const std::string& bucket, const std::string& key) override {
    return RemoveRecord(ObjectsFolder(bucket), Sha256Hex(key));
  }
  Status SaveUpload(const std::string& bucket, const Upload& upload) override {
    const std::string folder = UploadFolder(bucket, upload.id);
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
    ASSAY_RETURN_IF_ERROR(WriteRecord(folder + "/upload.json", UploadToJson(upload)));
    return SyncFolder(BucketFolder(bucket) + "/uploads");
  }
  Status SavePart(const std::string& bucket, const std::string& upload_id, const Part& part) override {
    return WriteRecord(UploadFolder(bucket, upload_id) + '/' + std::to_string(part.number), PartToJson(part));
  }
  Status RemoveUpload(const std::string& bucket, const std::string& upload_id) override {
    ASSAY_RETURN_IF_ERROR(RemoveRecord(UploadFolder(bucket, upload_id), "upload.json"));
    return RemoveTree(UploadFolder(bucket, upload_id));
  }
  Result<std::unique_ptr<BlobWriter>> NewWriter(std::optional<int64_t>) override { return NewFileWriter(data_); }

 private:
  std::string BucketFolder(const std::string& bucket) const { return root_ + "/buckets/" + bucket; }
  std::string ObjectsFolder(const std::string& bucket) const { return BucketFolder(bucket) + "/objects"; }
  std::string UploadFolder(const std::string& bucket, const std::string& id) const {
    return BucketFolder(bucket) + "/uploads/" + id;
  }

  static Status WriteRecord(const std::string& path, const nlohmann::json& json) {
    return WriteFileAtomically(path, DumpJson(json));
  }
  static Status RemoveRecord(const std::string& folder, const std::string& name) {
    const std::string path = folder + '/' + name;
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? SyncFolder(folder) : ErrnoStatus(errno, "remove", path);
  }

  Status FindContent();
  Result<std::optional<BucketRecord>> RecoverBucketRecord(const std::string& name, RecoveredStore& found);
  Result<std::optional<BucketRecord>> ReplaceBucketRecord(const std::string& name);
  Status RecoverObjects(RecoveredBucket& bucket, RecoveredStore& found);
  Status RecoverUploads(RecoveredBucket& bucket, RecoveredStore& found);
  Result<ObjectRecord> RecoverObject(const std::string& path, const std::string& name);
  Result<Upload> RecoverUpload(const std::string& folder, const std::string& id);
  DataFileLookup Lookup() {
    return [this](const std::string& name, int64_t bytes) { return FindData(name, bytes); };
  }
  std::shared_ptr<const DataFile> FindData(const std::string& name, int64_t bytes);
  Status RemoveJunk(bool any_set_aside, RecoveredStore& found);

  const std::string root_;
  FileDescriptor lock_;                                           ///< held: no second server may use the folder
  std::shared_ptr<DataFolder> data_;                              ///< of what is written from now on
  std::shared_ptr<DataFolder> found_data_;                        ///< the same folder, of what was there at the start
  std::map<std::string, int64_t> present_;                        ///< sizes of what is in data/, while recovering
  std::map<std::string, std::shared_ptr<const DataFile>> named_;  ///< those that records name, while recovering
};

Status FolderPersistence::FindContent() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(data_->path));
  for (const std::string& name : names) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOfFile(data_->path + '/' + name));
    present_[name] = size.value_or(0);
  }
  return Status::Ok();
}

std::shared_ptr<const DataFile> FolderPersistence::FindData(const std::string& name, int64_t bytes) {
  const auto found = present_.find(name);
  if (found == present_.end() || found->second < bytes) {
    return nullptr;
  }
  std::shared_ptr<const DataFile>& file = named_[name];
  if (!file) {
    file = std::make_shared<const DataFile>(found_data_, name);
  }
  return file;
}

/// WriteFileAtomically() leaves a temporary name behind when the program is killed: it holds a dot, records do not.
bool IsRecordName(const std::string& name) {
  return name.find('.') == std::string::npos;
}

Status FolderPersistence::Recover(RecoveredStore& found) {
  ASSAY_RETURN_IF_ERROR(FindContent());
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(root_ + "/buckets"));
  for (const std::string& name : names) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<BucketRecord> record, RecoverBucketRecord(name, found));
    if (!record) {
      ASSAY_RETURN_IF_ERROR(RemoveTree(BucketFolder(name)));
      continue;
    }
    RecoveredBucket bucket;
    bucket.record = std::move(*record);
    ASSAY_RETURN_IF_ERROR(RecoverObjects(bucket, found));
    ASSAY_RETURN_IF_ERROR(RecoverUploads(bucket, found));
    found.buckets.push_back(std::move(bucket));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> set_aside, NamesIn(root_ + '/' + kDamaged));
  ASSAY_RETURN_IF_ERROR(RemoveJunk(!set_aside.empty(), found));
  present_.clear();
  named_.clear();  // what records name that were set aside stays
  data_->keeps_files = false;
  // Copies share content: what was found may be named by a record that was set aside as well.
  found_data_->keeps_files = !set_aside.empty();
  return Status::Ok();
}

/// Nothing: what is left of a bucket that was removed, or that was never made.
Result<std::optional<BucketRecord>> FolderPersistence::RecoverBucketRecord(const std::string& name,
                                                                           RecoveredStore& found) {
  const std::string path = BucketFolder(name) + "/bucket.json";
  ASSAY_ASSIGN_OR_RETURN(const bool recorded, IsThere(path));
  if (!recorded) {
    // Only a bucket without objects is made or removed: one that has some has lost its record.
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> objects, NamesIn(ObjectsFolder(name)));
    if (std::ranges::none_of(objects, IsRecordName)) {
      return std::optional<BucketRecord>();
    }
    found.warnings.push_back("the record " + path + " is missing (made anew, its objects are served)");
    return ReplaceBucketRecord(name);
  }
  Result<nlohmann::json> json = ReadJsonFile(path);
  Result<BucketRecord> record = json.ok() ? BucketFromJson(*json, path) : json.status();
  if (record.ok() && record->name != name) {
    record =
        Status::FailedPrecondition("the record " + path + " is damaged: it names the bucket '" + record->name + "'");
  }
  if (!record.ok()) {
    // A copy, so that the bucket is never without a record, whenever this ends.
    ASSAY_RETURN_IF_ERROR(SetAside(root_, path, record.status(), Aside::kCopied, found.warnings));
    return ReplaceBucketRecord(name);
  }
  return std::optional(std::move(*record));
}

Result<std::optional<BucketRecord>> FolderPersistence::ReplaceBucketRecord(const std::string& name) {
  BucketRecord record{name, UnixSeconds(), ""};
  ASSAY_RETURN_IF_ERROR(SaveBucket(record));
  return std::optional(std::move(record));
}

Status FolderPersistence::RecoverObjects(RecoveredBucket& bucket, RecoveredStore& found) {
  const std::string folder = ObjectsFolder(bucket.record.name);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    const std::string path = folder + '/' + name;
    if (!IsRecordName(name)) {
      ::unlink(path.c_str());
      continue;
    }
    Result<ObjectRecord> object = RecoverObject(path, name);
    if (!object.ok()) {
      ASSAY_RETURN_IF_ERROR(SetAside(root_, path, object.status(), Aside::kMoved, found.warnings));
      continue;
    }
    bucket.objects.push_back(std::move(*object));
  }
  return Status::Ok();
}

Result<ObjectRecord> FolderPersistence::RecoverObject(const std::string& path, const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonFile(path));
  ASSAY_ASSIGN_OR_RETURN(ObjectRecord object, ObjectFromJson(json, Lookup(), path));
  if (Sha256Hex(object.key) != name) {
    return Status::FailedPrecondition("the record " + path + " is damaged: it is another object's");
  }
  return object;
}

Status FolderPersistence::RecoverUploads(RecoveredBucket& bucket, RecoveredStore& found) {
  std::set<std::string> completed;
  for (const ObjectRecord& object : bucket.objects) {
    completed.insert(object.upload_id);
  }
  const std::string uploads = BucketFolder(bucket.record.name) + "/uploads";
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, NamesIn(uploads));
  for (const std::string& id : ids) {
    const std::string folder = uploads + '/' + id;
    ASSAY_ASSIGN_OR_RETURN(const bool recorded, IsThere(folder + "/upload.json"));
    if (completed.contains(id) || !recorded) {
      ASSAY_RETURN_IF_ERROR(RemoveTree(folder));
      continue;
    }
    Result<Upload> upload = RecoverUpload(folder, id);
    if (!upload.ok()) {
      ASSAY_RETURN_IF_ERROR(SetAside(root_, folder, upload.status(), Aside::kMoved, found.warnings));
      continue;
    }
    bucket.uploads.push_back(std::move(*upload));
  }
  return Status::Ok();
}

Result<Upload> FolderPersistence::RecoverUpload(const std::string& folder, const std::string& id) {
  const std::string head = folder + "/upload.json";
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonFile(head));
  ASSAY_ASSIGN_OR_RETURN(Upload upload, UploadFromJson(json, head));
  if (upload.id != id) {
    return Status::FailedPrecondition("the record " + head + " is damaged: it is another upload's");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    const std::string path = folder + '/' + name;
    if (name == "upload.json") {
      continue;
    }
    if (!IsRecordName(name)) {
      ::unlink(path.c_str());
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json part_json, ReadJsonFile(path));
    ASSAY_ASSIGN_OR_RETURN(Part part, PartFromJson(part_json, Lookup(), path));
    if (std::to_string(part.number) != name) {
      return Status::FailedPrecondition("the record " + path + " is damaged: it is another part's");
    }
    upload.parts[part.number] = std::move(part);
  }
  return upload;
}

/// Of content that no record names, unless a record that was set aside may name it: then it is said how much stays.
Status FolderPersistence::RemoveJunk(bool any_set_aside, RecoveredStore& found) {
  size_t kept = 0;
  for (const auto& [name, size] : present_) {
    const auto named = named_.find(name);
    if (named != named_.end() && named->second.use_count() > 1) {
      continue;
    }
    if (any_set_aside) {
      ++kept;
      continue;
    }
    ::unlink((data_->path + '/' + name).c_str());
  }
  if (kept > 0) {
    found.warnings.push_back("content in " + data_->path + " that no record names (" + std::to_string(kept) +
                             (kept == 1 ? " file" : " files") + ") stays while there is anything in " + root_ + '/' +
                             kDamaged + ": remove that folder when it is no longer needed");
  }
  return Status::Ok();
}

/// Makes the folder a store, or sees that it is one of a version that is understood.
Status CheckFormat(const std::string& root) {
  const std::string path = root + "/format";
  ASSAY_ASSIGN_OR_RETURN(const bool is_store, IsThere(path));
  if (is_store) {
    ASSAY_ASSIGN_OR_RETURN(const std::string format, ReadFile(path));
    return format == kFormat ? Status::Ok()
                             : Status::FailedPrecondition("cannot serve " + root + ": its format file says '" +
                                                          format.substr(0, format.find('\n')) +
                                                          "', this version knows 'assay object store 1'");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(root));
  if (!names.empty()) {
    return Status::FailedPrecondition("cannot serve " + root +
                                      ": it is neither empty nor an object store (choose another folder)");
  }
  return WriteFileAtomically(path, kFormat);
}

Result<FileDescriptor> Lock(const std::string& root) {
  FileDescriptor lock = OpenFile(root.c_str(), O_RDONLY | O_DIRECTORY);
  if (!lock.valid()) {
    return ErrnoStatus(errno, "open", root);
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::FailedPrecondition("cannot serve " + root + ": another server is using it");
  }
  return lock;
}

}  // namespace

Status SetAside(const std::string& root, const std::string& path, const Status& damage, Aside how,
                std::vector<std::string>& warnings) {
  if (damage.code() != ErrorCode::kInvalidArgument && damage.code() != ErrorCode::kFailedPrecondition) {
    return damage;
  }
  const std::string target = root + '/' + kDamaged + path.substr(root.size()) + '-' + RandomUid();
  ASSAY_RETURN_IF_ERROR(MakeDirectories(target.substr(0, target.rfind('/'))));
  if (how == Aside::kCopied) {
    ASSAY_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(target, content));
  } else if (::rename(path.c_str(), target.c_str()) != 0) {
    return ErrnoStatus(errno, "set aside", path);
  }
  warnings.push_back(damage.message() + " (set aside as " + target + ", the rest is served)");
  return Status::Ok();
}

Result<std::unique_ptr<Persistence>> OpenFolder(const std::string& root, RecoveredStore& found) {
  ASSAY_RETURN_IF_ERROR(CheckWritableDirectory(root));
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor lock, Lock(root));
  ASSAY_RETURN_IF_ERROR(CheckFormat(root));
  ASSAY_RETURN_IF_ERROR(MakeDirectories(root + "/data"));
  ASSAY_RETURN_IF_ERROR(MakeDirectories(root + "/buckets"));
  auto persistence = std::make_unique<FolderPersistence>(root, std::move(lock));
  ASSAY_RETURN_IF_ERROR(persistence->Recover(found));
  return std::unique_ptr<Persistence>(std::move(persistence));
}

}  // namespace assay::objectserver
