#include "checkpoint/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/file/write_file.h"
#include "checkpoint/removable.h"
#include "checkpoint/save_mark.h"
#include "checkpoint/standing_pointer.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

/// Files that are written at a time.
constexpr int kFilesAtATime = 4;

/// 20 random digits: what tells one save from another.
std::string NewSaveId() {
  std::random_device random;
  std::uniform_int_distribution<uint64_t> digits(0, 9'999'999'999);
  return fmt::format("{:010}{:010}", digits(random), digits(random));
}

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

storage::WriteOptions WriteOptionsOf(const Save& save) {
  storage::WriteOptions options;
  options.metadata[kSaveIdMetadata] = save.id;
  options.cancel = save.place.cancel;
  options.progress = save.options.progress;
  options.condition.kind = storage::WriteCondition::Kind::kAbsent;
  return options;
}

/// A name that files of data have: another checkpoint's, or a leftover.
bool IsData(std::string_view name) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{".distcp", ".safetensors", ".bin"},
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

Result<bool> HasDataBelow(const Place& place) {
  storage::ListOptions list;
  list.prefix = place.key;
  list.keys_only = true;
  list.cancel = place.cancel;
  do {
    ASSAY_ASSIGN_OR_RETURN(const storage::ListPage page, place.store->List(list));
    if (std::ranges::any_of(page.objects, IsData, &storage::ObjectInfo::key)) {
      return true;
    }
    list.page_token = page.next_page_token;
  } while (!list.page_token.empty());
  return false;
}

std::string ManifestKeyOf(const Save& save) {
  return save.place.KeyOf(ManifestName(save.place.is_folder ? "" : save.pointer, save.id));
}

Status CheckMetrics(const SaveOptions& options) {
  for (const auto& [name, value] : options.metrics) {
    if (!std::isfinite(value)) {
      return Status::InvalidArgument(
          fmt::format("the metric '{}' is {}, and a manifest holds none but finite ones (leave it out)", name, value));
    }
  }
  return Status::Ok();
}

Status CheckReplaceable(const Found& found, const Save& save) {
  if (!save.options.overwrite) {
    return Status::FailedPrecondition(
        fmt::format("{} holds a checkpoint already (--overwrite replaces it)", found.place.uri()));
  }
  if (found.pointer != save.pointer) {
    return Status::FailedPrecondition(
        fmt::format("{} holds a checkpoint whose {} would not be replaced by {} in one step: remove it first, or name "
                    "another place",
                    found.place.uri(), found.pointer, save.pointer));
  }
  return Status::Ok();
}

/// Every file stands as it was written.
Status CheckStanding(const Save& save, const std::vector<SavedFile>& files) {
  std::vector<std::string> keys;
  for (const SavedFile& file : files) {
    keys.push_back(save.place.KeyOf(file.file.name));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> infos,
                         storage::StatExisting(*save.place.store, keys, "publish", save.place.cancel));
  for (size_t i = 0; i < files.size(); ++i) {
    const storage::ObjectInfo& info = infos[i];
    const bool same_etag = files[i].etag.empty() || info.etag == files[i].etag;
    const auto crc = info.checksum ? storage::Crc32cOf(*info.checksum) : std::nullopt;
    if (info.size != files[i].file.bytes || !same_etag || (crc && *crc != files[i].file.crc32c)) {
      return Status::FailedPrecondition(fmt::format(
          "{} is not what this save wrote: another one writes to the same place", save.place.store->Uri(keys[i])));
    }
  }
  return Status::Ok();
}

Status WriteManifestOf(const Save& save, const Manifest& manifest) {
  const std::string key = ManifestKeyOf(save);
  const std::string text = WriteManifest(manifest);
  const storage::Bytes bytes = std::as_bytes(std::span(text));
  storage::WriteOptions options = WriteOptionsOf(save);
  options.content_type = "application/json";
  ASSAY_RETURN_IF_ERROR(save.place.store->Write(key, std::span(&bytes, 1), options).status());
  std::string read(text.size(), '\0');
  const auto allocate = [&read](int64_t size) {
    read.resize(static_cast<size_t>(size));
    return std::as_writable_bytes(std::span(read));
  };
  // In one request: no checksum is asked for where all bytes are compared.
  ASSAY_RETURN_IF_ERROR(
      save.place.store->ReadWhole(key, allocate, {.verify = false, .cancel = save.place.cancel}).status());
  return read == text ? Status::Ok()
                      : Status::Io(fmt::format("{} was written, but reads otherwise: the store is at fault",
                                               save.place.store->Uri(key)));
}

Status NotSaved(const Save& save, const std::vector<SavedFile>& files, const Status& why) {
  Abandon(save, files);
  return why.WithContext(fmt::format("nothing was saved to {}", save.place.uri()));
}

/// Ok where the save is committed. Its files are removed only where its pointer stands nowhere and cannot come to stand
/// any more: a request that ended with an error may be carried out yet, until something else stands in its way. A
/// write of a file is over when it returns.
Status SettleCommit(const Save& save, const std::vector<SavedFile>& files, const Status& written,
                    const Result<StandingPointer>& standing) {
  const bool is_file = save.place.store->as_files() != nullptr;
  if (!standing.ok()) {
    return (written.ok() ? standing.status() : written)
        .WithContext(fmt::format("{}: whether the save was committed is not known, its files stay", save.place.uri()));
  }
  switch (*standing) {
    case StandingPointer::kOurs:
      return written.ok() || !is_file
                 ? Status::Ok()
                 : written.WithContext(
                       fmt::format("{}: the save stands, but may be gone after a power cut; its files stay, and those "
                                   "that it replaced",
                                   save.place.uri()));
    case StandingPointer::kDamaged:
      return Status::Io(
          fmt::format("{} was written, but reads otherwise: the store is at fault; files of the save "
                      "stay, and those that it replaced",
                      save.place.store->Uri(save.place.KeyOf(save.pointer))));
    case StandingPointer::kOther:
      return NotSaved(save, files,
                      written.ok() ? Status::FailedPrecondition("another save replaced it at once") : written);
    case StandingPointer::kAsBefore:
      break;
  }
  if (is_file && !written.ok()) {
    return NotSaved(save, files, written);
  }
  return (written.ok() ? Status::Io("the store said so, and has what was there before") : written)
      .WithContext(fmt::format("{}: whether the save was committed is not known, its files stay", save.place.uri()));
}

void RemoveReplaced(const Save& save, const Manifest& manifest) {
  std::vector<std::string> keys;
  for (const std::string& name : save.replaced_files) {
    if (manifest.Find(name) == nullptr) {
      keys.push_back(save.place.KeyOf(name));
    }
  }
  for (const Status& removed : save.place.store->RemoveMany(keys)) {
    (void)removed;  // a leftover, which Sweep() finds
  }
}

}  // namespace

std::string OwnFolder(const Save& save) {
  return fmt::format("save-{}/", save.id);
}

Result<Save> BeginSave(const Place& place, Format format, std::string pointer, SaveOptions options) {
  ASSAY_RETURN_IF_ERROR(CheckMetrics(options));
  Save save = {.place = place, .format = format, .id = NewSaveId(), .pointer = std::move(pointer)};
  save.options = std::move(options);
  // Lists may lag behind what stands.
  auto asked =
      std::async(std::launch::async, [&] { return place.store->Stat(place.KeyOf(save.pointer), place.cancel); });
  ASSAY_ASSIGN_OR_RETURN(const FileList files, ListFilesAndPointers(place));
  const Result<std::optional<Found>> found = FindIn(place, files);
  // What is damaged can be replaced, though nobody knows its files.
  const bool is_damaged = !found.ok() && save.options.overwrite && files.contains(save.pointer);
  if (!found.ok() && !is_damaged) {
    return found.status();
  }
  if (found.ok() && *found) {
    ASSAY_RETURN_IF_ERROR(CheckReplaceable(**found, save));
    const Result<std::vector<std::string>> names = RemovableNamesOf(**found);
    if (names.status().code() == ErrorCode::kFailedPrecondition) {
      return names.status();
    }
    save.replaced_files = names.ok() ? *names : std::vector<std::string>();
  }
  ASSAY_ASSIGN_OR_RETURN(const auto standing, asked.get());
  if (standing && !save.options.overwrite) {
    return Status::FailedPrecondition(
        fmt::format("{} exists already (--overwrite replaces it)", place.store->Uri(place.KeyOf(save.pointer))));
  }
  save.replaced_etag = standing ? standing->etag : "";
  bool has_data = std::ranges::any_of(files, [](const auto& file) { return IsData(file.first); });
  if (!has_data && save.options.is_spread) {
    ASSAY_ASSIGN_OR_RETURN(has_data, HasDataBelow(place));
  }
  save.folder = place.is_folder && has_data ? OwnFolder(save) : "";
  return save;
}

Result<SavedFile> WriteSaved(const Save& save, const FileToSave& file) {
  WriteFileOptions options;
  options.write = WriteOptionsOf(save);
  ASSAY_ASSIGN_OR_RETURN(FileLayout layout, file.lay_out());
  ASSAY_ASSIGN_OR_RETURN(const WrittenFile written,
                         WriteFile(*save.place.store, save.place.KeyOf(file.name), layout, options));
  return SavedFile{DescribeFile(file.name, layout, written.digest), written.info.etag};
}

Result<std::vector<SavedFile>> WriteAllSaved(const Save& save, const std::vector<FileToSave>& files) {
  std::vector<std::optional<SavedFile>> saved(files.size());
  const Status status = ParallelUntilFailure(std::ssize(files), kFilesAtATime, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    ASSAY_ASSIGN_OR_RETURN(saved[at], WriteSaved(save, files[at]));
    return Status::Ok();
  });
  std::vector<SavedFile> written;
  for (std::optional<SavedFile>& file : saved) {
    if (file) {
      written.push_back(*std::move(file));
    }
  }
  if (!status.ok()) {
    Abandon(save, written);
    return status;
  }
  return written;
}

void Abandon(const Save& save, const std::vector<SavedFile>& files) {
  std::vector<std::string> keys = {ManifestKeyOf(save)};
  for (const SavedFile& file : files) {
    keys.push_back(save.place.KeyOf(file.file.name));
  }
  for (const Status& removed : save.place.store->RemoveMany(keys)) {
    (void)removed;  // a leftover, which Sweep() finds
  }
}

Result<Manifest> CommitSave(const Save& save, const std::vector<SavedFile>& files, FileLayout pointer,
                            nlohmann::json structure) {
  Manifest manifest = {.id = save.id,
                       .format = save.format,
                       .step = save.options.step,
                       .metrics = save.options.metrics,
                       .pointer = save.pointer,
                       .replaced_etag = save.replaced_etag,
                       .structure = std::move(structure)};
  for (const SavedFile& file : files) {
    manifest.files.push_back(file.file);
  }
  FileDigest digest;
  bool is_sent = false;
  WriteFileOptions options;
  options.write = WriteOptionsOf(save);
  if (!save.replaced_etag.empty()) {
    options.write.condition.kind = storage::WriteCondition::Kind::kMatches;
    options.write.condition.etag = save.replaced_etag;
  }
  options.before_publish = [&](const FileDigest& of_pointer) {
    digest = of_pointer;
    manifest.files.push_back(DescribeFile(save.pointer, pointer, of_pointer));
    manifest.SortFiles();
    manifest.time = SecondsSince1970();
    auto standing = std::async(std::launch::async, [&] { return CheckStanding(save, files); });
    const Status described = WriteManifestOf(save, manifest);
    ASSAY_RETURN_IF_ERROR(standing.get());
    ASSAY_RETURN_IF_ERROR(described);
    is_sent = true;
    return Status::Ok();
  };
  const Result<WrittenFile> written = WriteFile(*save.place.store, save.place.KeyOf(save.pointer), pointer, options);
  if (!written.ok() && !is_sent) {
    return NotSaved(save, files, written.status());
  }
  const std::string etag = written.ok() ? written->info.etag : "";
  const Result<StandingPointer> standing = LookAtPointer(save, digest, etag, /*is_small=*/!files.empty());
  ASSAY_RETURN_IF_ERROR(SettleCommit(save, files, written.status(), standing));
  RemoveReplaced(save, manifest);
  return manifest;
}

}  // namespace assay::checkpoint
