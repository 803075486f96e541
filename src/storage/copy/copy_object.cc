#include "storage/copy/copy_object.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "storage/copy/part_journal.h"
#include "storage/copy/range_journal.h"
#include "storage/copy/read_through.h"
#include "storage/copy/window_memory.h"
#include "storage/file/file_store.h"
#include "storage/mapped_file.h"
#include "storage/store_checks.h"
#include "storage/transfer/checksum_parts.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/whole_check.h"

namespace assay::storage {
namespace {

/// Of the version that Stat() told of.
ReadOptions ReadOptionsOf(const ObjectInfo& object, const ObjectCopyOptions& options) {
  ReadOptions read;
  read.if_match = object.etag;
  read.known = &object;
  read.verify = options.verify;
  read.cancel = options.write.cancel;
  return read;
}

/// Objects from this size on go on after a crash where they are received into a file.
constexpr int64_t kResumableBytes = int64_t{32} << 20;
/// No store takes what is no larger in parts.
constexpr int64_t kOneRequestBytes = int64_t{5} << 20;
/// What is no larger is read whole into memory of its own: up to here that costs less than a second request, or the
/// pages of a file that is mapped.
constexpr int64_t kSmallBytes = int64_t{8} << 20;
constexpr int64_t kSmallFileBytes = int64_t{1} << 20;

/// Lets a file be published only if it is still what it was when it was mapped.
class UnchangedFile final : public UploadJournal {
 public:
  explicit UnchangedFile(const MappedObject& file) : file_(file) {}
  void OnBegin(const ResumableUpload&) override {}
  void OnPart(const UploadedPart&) override {}
  Status BeforePartEnds() override { return file_.CheckUnchanged(); }
  Status BeforePublish() override { return file_.CheckUnchanged(); }
  bool remembers() const override { return false; }

 private:
  const MappedObject& file_;
};

/// Unless the caller knows it, the content of `file` is to be what its own checksum was made of.
WriteOptions SendOptions(const ObjectInfo& file, const ObjectCopyOptions& options) {
  WriteOptions write = CopyOptions(file, options.write);
  if (options.verify && !write.expected) {
    write.expected = file.checksum;
  }
  return write;
}

Status DamagedFileStatus(const std::string& uri, const std::string& difference) {
  return Status::Io(
      fmt::format("cannot read {}: the content is damaged, {} (read it again; if that fails too, restore the object)",
                  uri, difference));
}

/// Whether an upload of it can leave something that a later run would go on with: parts, or a write under a condition
/// that was answered to nobody.
bool LeavesSomething(const ObjectInfo& file, const WriteOptions& write) {
  return file.size > kOneRequestBytes || write.condition.kind != WriteCondition::Kind::kNone;
}

/// Ends what an earlier run left, where nobody will go on with it. Whether nothing of it is left.
bool EndEarlier(const ResumableUpload& left, ObjectStore& target, const std::string& to) {
  // A session of GCS ends by itself; its address is a secret, and goes to nobody.
  return !IsInParts(left) || target.GiveUpUpload(to, left.upload_id);
}

/// After a write that ended with `end`: the journal stays as long as its upload may. What this run began it has given
/// up itself. What it has not come to stays where it was only refused: that says nothing of the upload.
void EndJournal(PartJournal& journal, const Status& end, bool differs, ObjectStore& target, const std::string& to) {
  const ResumableUpload* left = journal.untouched();
  const bool over = end.ok() || (left != nullptr && (differs || end.code() == ErrorCode::kAborted));
  if (journal.empty() || (over && (left == nullptr || EndEarlier(*left, target, to)))) {
    journal.Remove();
  }
}

/// From a file: sent from the mapped pages.
Result<CopiedObject> SendFile(const FileStore& files, const std::string& from, ObjectStore& target,
                              const std::string& to, const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const MappedObject mapped, files.Map(from));
  WriteOptions write = SendOptions(mapped.info(), options);
  std::unique_ptr<PartJournal> journal;
  if (!options.journal_folder.empty() && target.capabilities().resumable_uploads &&
      LeavesSomething(mapped.info(), write)) {
    ASSAY_ASSIGN_OR_RETURN(journal, PartJournal::Open(options.journal_folder, mapped, files.Uri(from), target.Uri(to)));
  }
  UnchangedFile unchanged(mapped);
  write.journal = &unchanged;
  if (journal) {
    write.journal = journal.get();
    write.resume = journal->earlier();
  }
  const Bytes content = mapped.bytes();
  Result<ObjectInfo> written = target.Write(to, std::span(&content, 1), write);
  const std::optional<std::string> differs = ChecksumMismatchOf(written.status(), "write", target.Uri(to));
  if (journal) {
    EndJournal(*journal, written.status(), differs.has_value(), target, to);
  }
  if (differs) {
    ASSAY_RETURN_IF_ERROR(mapped.CheckUnchanged());
    return options.write.expected ? written.status() : DamagedFileStatus(files.Uri(from), *differs);
  }
  ASSAY_RETURN_IF_ERROR(written.status());
  return CopiedObject{*std::move(written), journal ? journal->resumed_bytes() : 0};
}

/// Fetches what `journal` does not have. Returns the checksum of all.
Result<std::optional<Checksum>> FetchMissing(ObjectStore& source, const ObjectInfo& info, ReadOptions read,
                                             MutableBytes memory, RangeJournal& journal, int64_t& resumed_bytes) {
  std::vector<PartChecksum> ranges = journal.Check(memory);
  std::vector<ReadPiece> missing;
  int64_t end = 0;
  const auto add_gap = [&](int64_t until) {
    if (until > end) {
      missing.push_back({end, memory.subspan(static_cast<size_t>(end), static_cast<size_t>(until - end))});
    }
  };
  for (const PartChecksum& range : ranges) {
    add_gap(range.offset);
    end = range.offset + range.bytes;
    resumed_bytes += range.bytes;
  }
  add_gap(info.size);
  if (read.progress) {
    read.progress(resumed_bytes);
  }
  read.on_range = [&](const PartChecksum& range) {
    journal.Add(range);
    if (!range.checksum.value.empty()) {
      ranges.push_back(range);
    }
  };
  if (!missing.empty()) {
    ASSAY_RETURN_IF_ERROR(source.Read(info.key, missing, read).status());
  }
  // What was read just now as a whole has been compared; what was put together from two runs has not.
  const ReadPiece content = {0, memory};
  const auto found = read.verify && info.checksum && resumed_bytes > 0
                         ? WholeChecksum(info.checksum->kind, ranges, std::span(&content, 1), info.size)
                         : std::nullopt;
  if (found && *found != *info.checksum) {
    journal.Remove();
    return ChecksumMismatchStatus("read", source.Uri(info.key), *info.checksum, *found);
  }
  const auto whole = CombineParts(std::move(ranges), info.size);
  return whole ? whole : info.checksum;
}

/// `file` as FileStore gives it to whoever fills it.
ReadOptions Into(const MappedFile& file, ReadOptions read) {
  read.file = &file;
  return read;
}

/// To a file, going on from what an earlier run has received of the same version.
Result<CopiedObject> ReceiveRest(ObjectStore& source, const ObjectInfo& info, const FileStore& files,
                                 const std::string& to, const std::string& id, RangeJournal& journal,
                                 const ObjectCopyOptions& options) {
  ReadOptions read = ReadOptionsOf(info, options);
  read.progress = options.write.progress;
  CopiedObject copied;
  const auto fill = [&](MutableBytes memory, int file) {
    const MappedFile mapped = {file, memory, files.Uri(to)};
    return FetchMissing(source, info, Into(mapped, read), memory, journal, copied.resumed_bytes);
  };
  Result<ObjectInfo> written = files.WriteInPlaceAgain(to, info.size, id, CopyOptions(info, options.write), fill);
  if (written.ok() || written.status().code() != ErrorCode::kIo) {
    journal.Remove();
  }
  ASSAY_ASSIGN_OR_RETURN(copied.info, std::move(written));
  return copied;
}

/// To a file: received into it.
Result<CopiedObject> ReceiveFile(ObjectStore& source, const std::string& from, const FileStore& files,
                                 const std::string& to, const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy", options.write.cancel));
  if (info.size >= kResumableBytes && !options.journal_folder.empty()) {
    const std::string id = Sha256Hex(source.Uri(from) + '\n' + to).substr(0, 32);
    ASSAY_ASSIGN_OR_RETURN(StagedNotes notes, files.OpenNotes(id));
    if (const std::unique_ptr<RangeJournal> journal = RangeJournal::Open(std::move(notes), info)) {
      return ReceiveRest(source, info, files, to, id, *journal, options);
    }
  }
  ReadOptions read = ReadOptionsOf(info, options);
  read.progress = options.write.progress;
  const auto fill = [&](MutableBytes memory, int file) -> Result<std::optional<Checksum>> {
    const MappedFile mapped = {file, memory, files.Uri(to)};
    ASSAY_ASSIGN_OR_RETURN(
        const ObjectInfo got,
        source.ReadWhole(
            from,
            [memory](int64_t size) { return static_cast<size_t>(size) == memory.size() ? memory : MutableBytes(); },
            Into(mapped, read)));
    return got.checksum ? got.checksum : info.checksum;
  };
  WriteOptions write = CopyOptions(info, options.write);
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written, files.WriteInPlace(to, info.size, write, fill));
  return CopiedObject{std::move(written), 0};
}

/// Whole in memory, in one request. Nothing where it turns out to be larger than `bytes`, or that is more than the
/// memory budget has.
Result<std::optional<CopiedObject>> CopySmall(ObjectStore& source, const std::string& from, ObjectStore& target,
                                              const std::string& to, int64_t bytes, ReadOptions read,
                                              const ObjectCopyOptions& options) {
  MemoryPool* const own = source.memory_pool();
  MemoryPool* const pool = own != nullptr ? own : target.memory_pool();
  WindowMemory memory;
  if (pool != nullptr && bytes > pool->budget()) {
    return std::optional<CopiedObject>();
  }
  if (bytes > 0) {
    ASSAY_RETURN_IF_ERROR(memory.Take(pool, bytes, /*may_wait=*/true, read.cancel).status());
  }
  MutableBytes whole;
  bool too_large = false;
  const auto allocate = [&](int64_t size) {
    too_large = size > bytes;
    whole = too_large ? MutableBytes() : memory.bytes().first(static_cast<size_t>(size));
    return whole;
  };
  const Result<ObjectInfo> info = source.ReadWhole(from, allocate, read);
  if (too_large) {
    return std::optional<CopiedObject>();
  }
  ASSAY_RETURN_IF_ERROR(info.status());
  const Bytes content = whole;
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written,
                         target.Write(to, std::span(&content, 1), CopyOptions(*info, options.write)));
  return std::optional(CopiedObject{std::move(written), 0});
}

/// Of an object that a listing told of, and nobody was asked about since.
ReadOptions ListedReadOptions(const ObjectCopyOptions& options) {
  ReadOptions read;
  read.verify = options.verify;
  read.cancel = options.write.cancel;
  return read;
}

Result<CopiedObject> Stream(ObjectStore& source, const ObjectInfo& info, ObjectStore& target, const std::string& to,
                            const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, target.OpenWriter(to, CopyOptions(info, options.write)));
  ReadThroughOptions through;
  through.window_bytes = options.window_bytes;
  through.read = ReadOptionsOf(info, options);
  ASSAY_RETURN_IF_ERROR(ReadThrough(source, info, through, [&](Bytes bytes) { return writer->Write(bytes); }));
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written, writer->Commit());
  return CopiedObject{std::move(written), 0};
}

}  // namespace

Result<CopiedObject> CopyObject(ObjectStore& source, const std::string& from, ObjectStore& target,
                                const std::string& to, const ObjectCopyOptions& options) {
  if (&source == &target) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo copied, source.Copy(from, to, options.write));
    if (options.write.progress) {
      options.write.progress(copied.size);
    }
    return CopiedObject{std::move(copied), 0};
  }
  if (const auto* files = source.as_files()) {
    return SendFile(*files, from, target, to, options);
  }
  const auto copy_listed = [&](int64_t most_bytes) {
    return options.listed_bytes < 0 || options.listed_bytes > most_bytes
               ? Result<std::optional<CopiedObject>>(std::nullopt)
               : CopySmall(source, from, target, to, options.listed_bytes, ListedReadOptions(options), options);
  };
  std::optional<CopiedObject> small;
  if (const auto* files = target.as_files()) {
    ASSAY_ASSIGN_OR_RETURN(small, copy_listed(kSmallFileBytes));
    return small ? Result<CopiedObject>(*std::move(small)) : ReceiveFile(source, from, *files, to, options);
  }
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> within, target.CopyFrom(source, from, to, options.write));
  if (within) {
    if (options.write.progress) {
      options.write.progress(within->size);
    }
    return CopiedObject{*std::move(within), 0};
  }
  ASSAY_ASSIGN_OR_RETURN(small, copy_listed(kSmallBytes));
  if (small) {
    return *std::move(small);
  }
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy", options.write.cancel));
  if (info.size <= kSmallBytes) {
    ASSAY_ASSIGN_OR_RETURN(small,
                           CopySmall(source, from, target, to, info.size, ReadOptionsOf(info, options), options));
  }
  return small ? Result<CopiedObject>(*std::move(small)) : Stream(source, info, target, to, options);
}

}  // namespace assay::storage
