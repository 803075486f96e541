#include "storage/copy/copy_object.h"

#include <memory>
#include <optional>
#include <utility>

#include "storage/copy/part_journal.h"
#include "storage/copy/read_through.h"
#include "storage/file/file_store.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

ReadOptions ReadOptionsOf(const ObjectCopyOptions& options) {
  ReadOptions read;
  read.verify = options.verify;
  read.cancel = options.write.cancel;
  return read;
}

/// From a file: sent from the mapped pages.
Result<CopiedObject> SendFile(const FileStore& files, const std::string& from, ObjectStore& target,
                              const std::string& to, const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const MappedObject mapped, files.Map(from));
  WriteOptions write = CopyOptions(mapped.info(), options.write);
  std::unique_ptr<PartJournal> journal;
  if (!options.journal_folder.empty() && target.capabilities().resumable_uploads) {
    ASSAY_ASSIGN_OR_RETURN(journal, PartJournal::Open(options.journal_folder, mapped, files.Uri(from), target.Uri(to)));
  }
  if (journal) {
    write.journal = journal.get();
    write.resume = journal->earlier();
  }
  const Bytes content = mapped.bytes();
  Result<ObjectInfo> written = target.Write(to, std::span(&content, 1), write);
  if (journal && (written.ok() || written.status().code() != ErrorCode::kIo)) {
    journal->Remove();
  }
  ASSAY_RETURN_IF_ERROR(written.status());
  return CopiedObject{*std::move(written), journal ? journal->resumed_bytes() : 0};
}

/// To a file: received into its mapped pages.
Result<CopiedObject> ReceiveFile(ObjectStore& source, const std::string& from, const FileStore& files,
                                 const std::string& to, const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy"));
  ReadOptions read = ReadOptionsOf(options);
  read.if_match = info.etag;
  read.progress = options.write.progress;
  const auto fill = [&](MutableBytes memory) -> Result<std::optional<Checksum>> {
    ASSAY_ASSIGN_OR_RETURN(
        const ObjectInfo got,
        source.ReadWhole(
            from,
            [memory](int64_t size) { return static_cast<size_t>(size) == memory.size() ? memory : MutableBytes(); },
            read));
    return got.checksum ? got.checksum : info.checksum;
  };
  WriteOptions write = CopyOptions(info, options.write);
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written, files.WriteInPlace(to, info.size, write, fill));
  return CopiedObject{std::move(written), 0};
}

/// Whole in memory, where one window holds it.
Result<CopiedObject> CopySmall(ObjectStore& source, const ObjectInfo& info, ObjectStore& target, const std::string& to,
                               const ObjectCopyOptions& options) {
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(info.size));
  const MutableBytes whole(memory.get(), static_cast<size_t>(info.size));
  ReadOptions read = ReadOptionsOf(options);
  read.if_match = info.etag;
  ASSAY_RETURN_IF_ERROR(source.ReadWhole(info.key, [whole](int64_t) { return whole; }, read).status());
  const Bytes content = whole;
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written,
                         target.Write(to, std::span(&content, 1), CopyOptions(info, options.write)));
  return CopiedObject{std::move(written), 0};
}

Result<CopiedObject> Stream(ObjectStore& source, const ObjectInfo& info, ObjectStore& target, const std::string& to,
                            const ObjectCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, target.OpenWriter(to, CopyOptions(info, options.write)));
  ReadThroughOptions through;
  through.read = ReadOptionsOf(options);
  std::optional<ChecksumStream> stream;
  if (options.verify && info.checksum) {
    stream.emplace(info.checksum->kind);
  }
  ASSAY_RETURN_IF_ERROR(ReadThrough(source, info, through, [&](Bytes bytes) {
    if (stream) {
      stream->Update(bytes);
    }
    return writer->Write(bytes);
  }));
  if (stream) {
    if (const Checksum found = stream->Finish(); found != *info.checksum) {
      return ChecksumMismatchStatus("read", source.Uri(info.key), *info.checksum, found);
    }
  }
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo written, writer->Commit());
  return CopiedObject{std::move(written), 0};
}

}  // namespace

Result<CopiedObject> CopyObject(ObjectStore& source, const std::string& from, ObjectStore& target,
                                const std::string& to, const ObjectCopyOptions& options) {
  constexpr int64_t kSmallBytes = int64_t{8} << 20;
  if (&source == &target) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo copied, source.Copy(from, to, options.write));
    if (options.write.progress) {
      options.write.progress(copied.size);
    }
    return CopiedObject{std::move(copied), 0};
  }
  if (const auto* files = dynamic_cast<const FileStore*>(&source)) {
    return SendFile(*files, from, target, to, options);
  }
  if (const auto* files = dynamic_cast<const FileStore*>(&target)) {
    return ReceiveFile(source, from, *files, to, options);
  }
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy"));
  return info.size <= kSmallBytes ? CopySmall(source, info, target, to, options)
                                  : Stream(source, info, target, to, options);
}

}  // namespace assay::storage
