#include "storage/file/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/parallel.h"
#include "storage/file/file_io.h"
#include "storage/file/file_writer.h"
#include "storage/file/folder_walk.h"
#include "storage/file/object_attributes.h"
#include "storage/key_cursor.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

// From this size on, space is reserved before bytes are written: a full disk is found at once.
constexpr int64_t kReserveBytes = 1 << 20;
// Up to this size a write is over so soon that nobody looks for it among the unfinished ones.
constexpr int64_t kAtOnceBytes = 1 << 20;

FileStoreOptions Settle(FileStoreOptions options) {
  while (options.root.size() > 1 && options.root.back() == '/') {
    options.root.pop_back();
  }
  if (options.threads <= 0) {
    options.threads = std::clamp(UsableThreads(), 2, 8);
  }
  return options;
}

// The pieces in the order of their offsets, when that is the whole object without gaps or overlaps.
std::optional<std::vector<ReadPiece>> AsWholeObject(std::span<const ReadPiece> pieces, int64_t size) {
  std::vector<ReadPiece> sorted(pieces.begin(), pieces.end());
  std::sort(sorted.begin(), sorted.end(), [](const ReadPiece& a, const ReadPiece& b) { return a.offset < b.offset; });
  int64_t end = 0;
  for (const ReadPiece& piece : sorted) {
    if (piece.offset != end) {
      return std::nullopt;
    }
    end += static_cast<int64_t>(piece.memory.size());
  }
  return end == size ? std::optional(std::move(sorted)) : std::nullopt;
}

Status ReserveSpace(int fd, int64_t bytes, const std::string& uri) {
  if (bytes < kReserveBytes || ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0 || errno == EOPNOTSUPP ||
      errno == ENOSYS || errno == EINTR) {
    return Status::Ok();
  }
  return ErrnoStatus(errno, "write", uri);
}

}  // namespace

FileStore::FileStore(FileStoreOptions options)
    : options_(Settle(std::move(options))), names_(options_.root, options_.lock) {}

FileStore::~FileStore() {
  RemoveStagingFolder(options_.root);
}

std::string FileStore::Uri(std::string_view key) const {
  return names_.Uri(key);
}

Capabilities FileStore::capabilities() const {
  return {.conditional_create = true,
          .conditional_replace = true,
          .compose = true,
          .presign = false,
          .unfinished_uploads = true};
}

Result<FileStore::OpenObject> FileStore::Open(std::string_view verb, const std::string& key,
                                              const std::string& if_match) const {
  ASSAY_RETURN_IF_ERROR(CheckFileKey(key, Uri(key)));
  OpenObject object;
  ASSAY_ASSIGN_OR_RETURN(object.fd, names_.Open(key));
  if (!object.fd.valid()) {
    return MissingObjectStatus(verb, Uri(key));
  }
  struct stat status;
  if (::fstat(object.fd.get(), &status) != 0) {
    return ErrnoStatus(errno, verb, Uri(key));
  }
  object.info = DescribeFile(object.fd.get(), status, key);
  if (!if_match.empty() && object.info.etag != if_match) {
    return ChangedObjectStatus(Uri(key), if_match, object.info.etag);
  }
  return object;
}

Result<std::optional<ObjectInfo>> FileStore::Stat(const std::string& key, CancelFlag cancel) {
  auto object = Open("stat", key, "");
  if (object.ok()) {
    return std::optional(std::move(object->info));
  }
  if (object.status().code() == ErrorCode::kNotFound) {
    return std::optional<ObjectInfo>();
  }
  return object.status();
}

Result<ObjectInfo> FileStore::Read(const std::string& key, std::span<const ReadPiece> pieces,
                                   const ReadOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(OpenObject object, Open("read", key, options.if_match));
  return ReadFrom(std::move(object), pieces, options);
}

Result<ObjectInfo> FileStore::ReadWhole(const std::string& key,
                                        const std::function<MutableBytes(int64_t size)>& allocate,
                                        const ReadOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(OpenObject object, Open("read", key, options.if_match));
  const ReadPiece whole = {0, allocate(object.info.size)};
  if (static_cast<int64_t>(whole.memory.size()) != object.info.size) {
    return Status::InvalidArgument("cannot read " + Uri(key) + ": the memory given for it has another size");
  }
  return ReadFrom(std::move(object), std::span(&whole, 1), options);
}

Result<ObjectInfo> FileStore::ReadFrom(OpenObject object, std::span<const ReadPiece> pieces,
                                       const ReadOptions& options) const {
  ObjectInfo& info = object.info;
  const std::string uri = Uri(info.key);
  ASSAY_RETURN_IF_ERROR(CheckPieces(pieces, info.size, uri));
  const auto whole = options.verify && info.checksum.has_value() ? AsWholeObject(pieces, info.size) : std::nullopt;
  const FileTransfer transfer = {.fd = object.fd.get(),
                                 .uri = uri,
                                 .threads = options_.threads,
                                 .cancel = options.cancel,
                                 .progress = &options.progress};
  uint32_t crc = 0;
  ASSAY_RETURN_IF_ERROR(ReadPieces(transfer, whole.has_value() ? *whole : pieces, whole.has_value() ? &crc : nullptr));
  struct stat status;
  if (::fstat(object.fd.get(), &status) != 0) {
    return ErrnoStatus(errno, "read", uri);
  }
  if (EtagOf(status) != info.etag) {
    return ChangedObjectStatus(uri, info.etag, EtagOf(status));
  }
  if (whole.has_value() && MakeCrc32c(crc) != *info.checksum) {
    return ChecksumMismatchStatus("read", uri, *info.checksum, MakeCrc32c(crc));
  }
  return std::move(info);
}

std::vector<Status> FileStore::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<Status> statuses(reads.size());
  ParallelFor(static_cast<int64_t>(reads.size()), options_.threads, [&](int64_t i) {
    const ObjectRead& read = reads[static_cast<size_t>(i)];
    statuses[static_cast<size_t>(i)] = Read(read.key, std::span(&read.piece, 1), read.OptionsOr(options)).status();
  });
  return statuses;
}

Result<ObjectInfo> FileStore::Write(const std::string& key, std::span<const Bytes> buffers,
                                    const WriteOptions& options) {
  return WriteWith(key, buffers, options, options_.threads);
}

Result<ObjectInfo> FileStore::WriteWith(const std::string& key, std::span<const Bytes> buffers,
                                        const WriteOptions& options, int threads) const {
  const int64_t bytes = TotalBytes(buffers);
  ASSAY_RETURN_IF_ERROR(CheckStaging(key, options));
  ASSAY_ASSIGN_OR_RETURN(StagedFile staged, bytes <= kAtOnceBytes ? StagedFile::CreateUnnamed(options_.root, key)
                                                                  : StagedFile::Create(options_.root, key));
  ASSAY_RETURN_IF_ERROR(ReserveSpace(staged.fd(), bytes, Uri(key)));
  const FileTransfer transfer = {
      .fd = staged.fd(), .uri = Uri(key), .threads = threads, .cancel = options.cancel, .progress = &options.progress};
  ASSAY_ASSIGN_OR_RETURN(const uint32_t crc, WriteBuffers(transfer, 0, buffers));
  if (options.journal != nullptr) {
    ASSAY_RETURN_IF_ERROR(options.journal->BeforePublish());
  }
  const Checksum checksum = MakeCrc32c(crc);
  if (options.expected.has_value() && options.expected->kind != ChecksumKind::kCrc32c) {
    ASSAY_RETURN_IF_ERROR(CheckExpected(options, buffers, Uri(key)));
  } else if (options.expected.has_value() && *options.expected != checksum) {
    return ChecksumMismatchStatus("write", Uri(key), *options.expected, checksum);
  }
  return Finish(staged, key, checksum, options);
}

Status FileStore::CheckStaging(const std::string& key, const WriteOptions& options) const {
  ASSAY_RETURN_IF_ERROR(CheckFileKey(key, Uri(key)));
  return names_.CheckCondition(key, options.condition);
}

Result<StagedFile> FileStore::Stage(const std::string& key, const WriteOptions& options) const {
  ASSAY_RETURN_IF_ERROR(CheckStaging(key, options));
  return StagedFile::Create(options_.root, key);
}

Result<ObjectInfo> FileStore::Finish(StagedFile& staged, const std::string& key, std::optional<Checksum> checksum,
                                     const WriteOptions& options) const {
  const ObjectInfo described = {
      .key = key, .content_type = options.content_type, .checksum = checksum, .metadata = MetadataOf(options)};
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo info, RecordAttributes(staged.fd(), described, Uri(key)));
  if (options_.durable && ::fsync(staged.fd()) != 0) {
    return ErrnoStatus(errno, "write", Uri(key));
  }
  if (IsCancelled(options.cancel)) {
    return CancelledStatus("write", Uri(key));
  }
  ASSAY_ASSIGN_OR_RETURN(const FileNamespace::Outcome outcome,
                         names_.Publish(staged, key, options.condition, options_.durable));
  return outcome == FileNamespace::Outcome::kPublished ? Result<ObjectInfo>(std::move(info)) : Lost(key, info, options);
}

Result<ObjectInfo> FileStore::Lost(const std::string& key, const ObjectInfo& ours, const WriteOptions& options) const {
  if (options.condition.kind == WriteCondition::Kind::kAbsent) {
    auto existing = Open("stat", key, "");
    if (existing.ok() && WonEarlier(existing->info, ours.metadata)) {
      return std::move(existing->info);
    }
  }
  return ConditionFailedStatus(options.condition, Uri(key));
}

Result<std::unique_ptr<ObjectWriter>> FileStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(StagedFile staged, Stage(key, options));
  const FileTransfer transfer = {
      .fd = staged.fd(), .uri = Uri(key), .threads = options_.threads, .cancel = options.cancel};
  auto finish = [this, key](StagedFile& file, const Checksum& checksum, const WriteOptions& how) {
    return Finish(file, key, checksum, how);
  };
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<FileWriter>(std::move(staged), transfer, options, std::move(finish)));
}

std::vector<Status> FileStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  std::vector<Status> statuses(writes.size());
  ParallelFor(static_cast<int64_t>(writes.size()), options_.threads, [&](int64_t i) {
    const ObjectWrite& write = writes[static_cast<size_t>(i)];
    const WriteOptions& own = write.OptionsOr(options);
    statuses[static_cast<size_t>(i)] = WriteWith(write.key, std::span(&write.content, 1), own, 1).status();
  });
  return statuses;
}

Result<ListPage> FileStore::List(const ListOptions& options) {
  constexpr size_t kKeptWalks = 8;
  std::unique_ptr<FolderWalk> walk;
  if (!options.page_token.empty()) {
    const std::lock_guard lock(mutex_);
    const auto kept = std::find_if(walks_.begin(), walks_.end(),
                                   [&](const auto& entry) { return entry.first == options.page_token; });
    if (kept != walks_.end()) {
      walk = std::move(kept->second);
      walks_.erase(kept);
    }
  }
  if (walk == nullptr) {
    walk = std::make_unique<FolderWalk>(options_.root);
  }
  ASSAY_ASSIGN_OR_RETURN(ListPage page, ListThrough(*walk, options));
  if (!page.next_page_token.empty()) {
    const std::lock_guard lock(mutex_);
    walks_.emplace_front(page.next_page_token, std::move(walk));
    walks_.resize(std::min(walks_.size(), kKeptWalks));
  }
  return page;
}

Status FileStore::Remove(const std::string& key) {
  return RemoveMany(std::span(&key, 1)).front();
}

std::vector<Status> FileStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  return names_.Remove(keys, options_.durable);
}

Result<ObjectInfo> FileStore::Copy(const std::string& from, const std::string& to, const WriteOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const OpenObject source, Open("copy", from, ""));
  return Concatenate(std::span(&source, 1), to, CopyOptions(source.info, options));
}

Result<ObjectInfo> FileStore::Compose(std::span<const std::string> from, const std::string& to,
                                      const WriteOptions& options) {
  std::vector<OpenObject> sources;
  for (const std::string& key : from) {
    ASSAY_ASSIGN_OR_RETURN(OpenObject source, Open("copy", key, ""));
    sources.push_back(std::move(source));
  }
  return Concatenate(sources, to, options);
}

Result<ObjectInfo> FileStore::Concatenate(std::span<const OpenObject> sources, const std::string& to,
                                          const WriteOptions& options) const {
  ASSAY_ASSIGN_OR_RETURN(StagedFile staged, Stage(to, options));
  const FileTransfer transfer = {
      .fd = staged.fd(), .uri = Uri(to), .cancel = options.cancel, .progress = &options.progress};
  std::vector<ObjectInfo> infos;
  for (const OpenObject& source : sources) {
    ASSAY_RETURN_IF_ERROR(AppendFile(transfer, source.fd.get(), source.info.size));
    infos.push_back(source.info);
  }
  // Bytes that stay within the kernel are not read again for a checksum.
  const auto checksum = CombinedChecksum(infos);
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(options.expected, checksum, Uri(to)));
  return Finish(staged, to, checksum, options);
}

Result<MappedObject> FileStore::Map(const std::string& key) const {
  ASSAY_ASSIGN_OR_RETURN(OpenObject object, Open("read", key, ""));
  ASSAY_ASSIGN_OR_RETURN(FileMapping mapping,
                         FileMapping::Make(object.fd.get(), object.info.size, FileMapping::Access::kRead, Uri(key)));
  return MappedObject(std::move(object.fd), std::move(mapping), std::move(object.info), Uri(key));
}

Result<ObjectInfo> FileStore::WriteInPlace(const std::string& key, int64_t size, const WriteOptions& options,
                                           const Fill& fill) const {
  ASSAY_ASSIGN_OR_RETURN(StagedFile staged, Stage(key, options));
  return FillAndFinish(staged, key, size, options, fill);
}

Result<ObjectInfo> FileStore::WriteInPlaceAgain(const std::string& key, int64_t size, const std::string& id,
                                                const WriteOptions& options, const Fill& fill) const {
  ASSAY_RETURN_IF_ERROR(CheckStaging(key, options));
  ASSAY_ASSIGN_OR_RETURN(StagedFile staged, StagedFile::Reopen(options_.root, key, id));
  struct stat status;
  if (::fstat(staged.fd(), &status) != 0 || (status.st_size > size && ::ftruncate(staged.fd(), size) != 0)) {
    return ErrnoStatus(errno, "write", Uri(key));
  }
  Status filled;
  Result<ObjectInfo> info = FillAndFinish(staged, key, size, options, [&](MutableBytes memory, int file) {
    Result<std::optional<Checksum>> checksum = fill(memory, file);
    filled = checksum.status();
    return checksum;
  });
  if (filled.code() == ErrorCode::kIo) {
    staged.Keep();
  }
  return info;
}

Result<ObjectInfo> FileStore::FillAndFinish(StagedFile& staged, const std::string& key, int64_t size,
                                            const WriteOptions& options, const Fill& fill) const {
  // Writing to a mapped page that the disk has no room for would end the program.
  if (const int error = size == 0 ? 0 : ::posix_fallocate(staged.fd(), 0, size); error != 0) {
    return ErrnoStatus(error, "write", Uri(key));
  }
  std::optional<Checksum> checksum;
  {
    ASSAY_ASSIGN_OR_RETURN(const FileMapping mapping,
                           FileMapping::Make(staged.fd(), size, FileMapping::Access::kWrite, Uri(key)));
    ASSAY_ASSIGN_OR_RETURN(checksum, fill(mapping.memory(), staged.fd()));
  }
  return Finish(staged, key, checksum, options);
}

Result<std::string> FileStore::Presign(const std::string& key, std::string_view, int64_t, CancelFlag) {
  return Status::Unsupported("cannot presign " + Uri(key) + ": files have no URL to sign (use s3, gs or oci)");
}

Result<std::vector<UnfinishedUpload>> FileStore::ListUploads(const std::string& prefix, CancelFlag) {
  return ListStaged(options_.root, prefix);
}

Status FileStore::AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag) {
  return AbortStaged(options_.root, key, upload_id);
}

}  // namespace assay::storage
