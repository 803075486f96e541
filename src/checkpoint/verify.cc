#include "checkpoint/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/dcp/dcp_reader.h"
#include "checkpoint/manifest/checked_source.h"
#include "checkpoint/zip/zip_reader.h"
#include "storage/integrity/checksum.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;

/// Read at a time by each thread, of what is fetched.
constexpr int64_t kVerifyWindowBytes = 4 * kSegmentBytes;
/// Of fetched windows: more than there are processors, since they wait for the network.
constexpr int kFetchThreads = 8;

/// Whether an error tells of the checkpoint, and not of the store or the caller.
bool IsDamage(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kNotFound ||
         status.code() == ErrorCode::kFailedPrecondition;
}

class Verifier {
 public:
  Verifier(const Found& found, const storage::ProgressCallback& progress, size_t most)
      : found_(found), progress_(progress), most_(most) {}

  Result<VerifyReport> Run() {
    for (const std::string& id : found_.strangers) {
      AddDamage(
          fmt::format("{} is damaged, or another program wrote over it: it does not name the save {}, whose "
                      "manifest stands beside it (remove that to take it as it is)",
                      found_.place.store->Uri(found_.place.KeyOf(found_.pointer)), id));
    }
    if (found_.manifest != nullptr) {
      report_.reach = "every byte by its manifest";
      for (const ManifestFile& file : found_.manifest->files) {
        ASSAY_RETURN_IF_ERROR(VerifyFile(file));
      }
    } else {
      ASSAY_RETURN_IF_ERROR(VerifyWithoutManifest());
    }
    if (report_.damages.empty()) {
      ASSAY_RETURN_IF_ERROR(VerifyContent());
    }
    return std::move(report_);
  }

 private:
  struct Stretch {
    int64_t offset;
    int64_t bytes;
  };
  /// Whether the content is right; told `is_last` of what will not be fetched again, it notes what is wrong.
  using CheckStretch = std::function<bool(const Stretch& stretch, Bytes content, bool is_last)>;

  void AddDamage(std::string text) {
    const std::lock_guard lock(mutex_);
    if (report_.damages.size() < most_) {
      report_.damages.push_back(std::move(text));
    }
  }

  /// Damages are noted; what else went wrong is returned.
  Status Note(const Status& status) {
    if (!status.ok() && IsDamage(status)) {
      AddDamage(status.message());
      return Status::Ok();
    }
    return status;
  }

  /// Gives `check` the stretches of the source, several at a time, where they lie or through a buffer a thread.
  Status ForEach(const DataSource& source, const std::vector<Stretch>& stretches, const CheckStretch& check) {
    ASSAY_ASSIGN_OR_RETURN(const auto viewable, source.View(0, 0));
    const int threads = viewable ? UsableThreads() : kFetchThreads;
    ASSAY_RETURN_IF_ERROR(ParallelUntilFailure(std::ssize(stretches), threads, [&](int64_t i) {
      return CheckOne(source, stretches[static_cast<size_t>(i)], check);
    }));
    return source.CheckUnchanged();
  }

  Status CheckOne(const DataSource& source, const Stretch& stretch, const CheckStretch& check) {
    if (storage::IsCancelled(found_.place.cancel)) {
      return storage::CancelledStatus("verify", found_.place.uri());
    }
    ASSAY_ASSIGN_OR_RETURN(const auto view, source.View(stretch.offset, stretch.bytes));
    if (view) {
      (void)check(stretch, *view, /*is_last=*/true);
    } else {
      // What is wrong may have gone wrong on its way: it is fetched once more.
      std::vector<std::byte> memory(static_cast<size_t>(stretch.bytes));
      const storage::ReadPiece piece = {stretch.offset, memory};
      ASSAY_RETURN_IF_ERROR(source.Read(std::span(&piece, 1)));
      if (!check(stretch, memory, /*is_last=*/false)) {
        ASSAY_RETURN_IF_ERROR(source.Read(std::span(&piece, 1)));
        (void)check(stretch, memory, /*is_last=*/true);
      }
    }
    if (progress_ != nullptr) {
      progress_(stretch.bytes);
    }
    return Status::Ok();
  }

  static std::vector<Stretch> Cut(int64_t begin, int64_t end) {
    std::vector<Stretch> stretches;
    for (int64_t at = begin; at < end; at += kVerifyWindowBytes) {
      stretches.push_back({at, std::min(kVerifyWindowBytes, end - at)});
    }
    return stretches;
  }

  Status VerifyFile(const ManifestFile& file) {
    ++report_.files;
    const auto source = OpenObject(found_.place.store, found_.place.KeyOf(file.name), found_.place.cancel);
    if (!source.ok()) {
      return Note(source.status());
    }
    if ((*source)->bytes() != file.bytes) {
      AddDamage(fmt::format("{} has {} bytes and not {}: it is truncated or another file", (*source)->uri(),
                            (*source)->bytes(), file.bytes));
      return Status::Ok();
    }
    report_.bytes += file.bytes;
    const std::string uri = (*source)->uri();
    return Note(ForEach(**source, Cut(0, file.bytes), [&](const Stretch& stretch, Bytes content, bool is_last) {
      return CheckSegments(file, uri, stretch, content, is_last);
    }));
  }

  bool CheckSegments(const ManifestFile& file, const std::string& uri, const Stretch& stretch, Bytes content,
                     bool is_last) {
    bool is_right = true;
    for (int64_t at = 0; at < stretch.bytes; at += kSegmentBytes) {
      const int64_t begin = stretch.offset + at;
      const int64_t bytes = std::min(kSegmentBytes, stretch.bytes - at);
      const uint32_t crc = storage::Crc32c(0, content.subspan(static_cast<size_t>(at), static_cast<size_t>(bytes)));
      const uint32_t expected = file.segments[static_cast<size_t>(begin / kSegmentBytes)];
      is_right = is_right && crc == expected;
      if (crc != expected && is_last) {
        AddDamage(fmt::format("{} is damaged: the CRC32C of bytes {} to {} ({}) is {:08x} and not {:08x}", uri, begin,
                              begin + bytes, WhatLiesAt(file, begin, begin + bytes), crc, expected));
      }
    }
    return is_right;
  }

  /// Records of torch.save have a CRC-32, which torch writes and never looks at.
  Status VerifyArchive(std::shared_ptr<const DataSource> source, const std::string& what) {
    const Result<ZipArchive> archive = ZipArchive::Open(std::move(source));
    if (!archive.ok()) {
      return Note(archive.status());
    }
    if (!archive->has_checksums()) {
      report_.reach = "its structure alone: it was written without checksums";
      return Status::Ok();
    }
    for (const ZipRecord& record : archive->records()) {
      const std::vector<Stretch> stretches = Cut(record.data_offset, record.data_offset + record.bytes);
      std::vector<uint32_t> crcs(stretches.size());
      report_.bytes += record.bytes;
      ASSAY_RETURN_IF_ERROR(ForEach(archive->source(), stretches, [&](const Stretch& stretch, Bytes content, bool) {
        crcs[static_cast<size_t>((stretch.offset - record.data_offset) / kVerifyWindowBytes)] =
            storage::Crc32(0, content);
        return true;
      }));
      uint32_t crc = 0;
      for (size_t i = 0; i < crcs.size(); ++i) {
        crc = storage::CombineCrc32(crc, crcs[i], stretches[i].bytes);
      }
      if (crc != record.crc32) {
        AddDamage(fmt::format("{} is damaged: the CRC-32 of its record '{}'{} is {:08x} and not {:08x}",
                              archive->source().uri(), record.name, what, crc, record.crc32));
      }
    }
    return Status::Ok();
  }

  Status VerifyWithoutManifest() {
    FileSet files(found_.place);
    if (found_.format == Format::kDcp) {
      report_.reach = "items by the CRC-32 of their records";
      return VerifyItems(files);
    }
    const Result<std::vector<std::string>> names = NamesOf(found_);
    if (!names.ok()) {
      return Note(names.status());
    }
    report_.files = static_cast<int64_t>(names->size());
    report_.reach = found_.format == Format::kSafetensors ? "its structure alone: the format has no checksums"
                                                          : "records by their CRC-32";
    for (const std::string& name : *names) {
      const auto source = files.Open(name);
      if (!source.ok()) {
        ASSAY_RETURN_IF_ERROR(Note(source.status()));
        continue;
      }
      ASSAY_ASSIGN_OR_RETURN(const std::string head, ReadText(**source, 0, std::min<int64_t>((*source)->bytes(), 4)));
      if (head == "PK\x03\x04") {
        ASSAY_RETURN_IF_ERROR(VerifyArchive(*source, ""));
      } else if (found_.format != Format::kSafetensors && !name.ends_with(".json")) {
        report_.reach = "its structure alone: the format before torch 1.6 has no checksums";
      }
    }
    return Status::Ok();
  }

  Status VerifyItems(FileSet& files) {
    const Result<DcpMetadata> metadata = ReadDcpMetadataOf(files);
    if (!metadata.ok()) {
      return Note(metadata.status());
    }
    std::set<std::string> names;
    for (const DcpEntry& entry : metadata->entries) {
      for (const DcpChunk& chunk : entry.chunks) {
        names.insert(chunk.place.file);
        const auto file = files.Open(chunk.place.file);
        if (!file.ok()) {
          ASSAY_RETURN_IF_ERROR(Note(file.status()));
          continue;
        }
        const DcpPlace& place = chunk.place;
        if (place.length > (*file)->bytes() || place.offset > (*file)->bytes() - place.length) {
          AddDamage(fmt::format("{} has {} bytes, but '{}' lies at {} to {}: it is truncated", (*file)->uri(),
                                (*file)->bytes(), entry.name, place.offset, place.offset + place.length));
          continue;
        }
        ASSAY_RETURN_IF_ERROR(VerifyArchive(RangeOf(*file, place.offset, place.length),
                                            fmt::format(" ('{}' at {})", entry.name, place.offset)));
      }
    }
    report_.files = static_cast<int64_t>(names.size()) + 1;
    return Status::Ok();
  }

  /// What the bytes mean.
  Status VerifyContent() {
    const Result<Checkpoint> opened = OpenCheckpoint(found_);
    if (!opened.ok()) {
      const bool refused = opened.status().code() == ErrorCode::kUnsupported;
      return refused ? opened.status() : Note(opened.status());
    }
    for (const Leaf& leaf : opened->state.leaves) {
      report_.tensors += leaf.value.tensor() != nullptr ? 1 : 0;
    }
    return Status::Ok();
  }

  const Found& found_;
  const storage::ProgressCallback& progress_;
  const size_t most_;
  std::mutex mutex_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> Verify(const Found& found, const storage::ProgressCallback& progress, size_t most) {
  return Verifier(found, progress, most).Run();
}

}  // namespace assay::checkpoint
