#include "checkpoint/copy_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manage.h"
#include "checkpoint/verify.h"

namespace assay::checkpoint {
namespace {

/// The whole file as segments: its items, and what lies between them.
FileLayout LayOutWhole(const ManifestFile& file, const std::shared_ptr<const DataSource>& source) {
  FileLayout layout;
  int64_t end = 0;
  const auto add_gap = [&](int64_t until) {
    if (until > end) {
      layout.AddData("", source, end, until - end);
    }
  };
  for (const ManifestItem& item : file.items) {
    add_gap(item.offset);
    layout.AddData(item.name, source, item.offset, item.bytes);
    end = item.offset + item.bytes;
  }
  add_gap(file.bytes);
  return layout;
}

/// Whether some byte of what stands there is missing or damaged.
Result<bool> IsNotWhole(const Place& place, const Result<std::optional<Found>>& found) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_damaged, IsDamaged(place));
  if (is_damaged || !found.ok() || !*found) {
    return is_damaged;
  }
  ASSAY_ASSIGN_OR_RETURN(const VerifyReport report, Verify(**found, {}, /*most=*/1));
  return !report.damages.empty();
}

/// Names in the file that makes it valid are fixed, so what has them must go first: what stands there and is not whole,
/// which nobody loses. Whether it did.
Result<bool> RemoveDamaged(Save& save) {
  if (save.replaced_etag.empty()) {
    return false;
  }
  const Result<std::optional<Found>> found = FindCheckpoint(save.place);
  ASSAY_ASSIGN_OR_RETURN(const bool is_damaged, IsNotWhole(save.place, found));
  if (!is_damaged) {
    return false;
  }
  ASSAY_RETURN_IF_ERROR(found.ok() && *found ? RemoveCheckpoint(**found)
                                             : save.place.store->Remove(save.place.KeyOf(save.pointer)));
  save.replaced_etag.clear();
  save.replaced_files.clear();
  return true;
}

/// Likewise what a killed copy left. Where no file makes a checkpoint valid, files with the names of this one are that,
/// though a file system without attributes keeps no mark of it.
Status RemoveKilledCopy(const Save& save, const Found& from) {
  const Place& to = save.place;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Leftover> leftovers, FindLeftovers(to, 0));
  ASSAY_RETURN_IF_ERROR(RemoveLeftovers(to, leftovers));
  std::vector<Leftover> unmarked;
  std::vector<std::string> names = {from.manifest_name};
  std::ranges::transform(from.manifest->files, std::back_inserter(names), &ManifestFile::name);
  for (const std::string& name : names) {
    const std::string key = to.KeyOf(name);
    ASSAY_ASSIGN_OR_RETURN(const auto standing, to.store->Stat(key));
    if (standing && save.replaced_etag.empty()) {
      unmarked.push_back({to.store->Uri(key), key, "", standing->size});
    }
  }
  return RemoveLeftovers(to, unmarked);
}

}  // namespace

Result<Manifest> CopyCheckpoint(const Found& from, const Place& to, const SaveOptions& options) {
  if (from.manifest == nullptr) {
    return Status::Unsupported(
        fmt::format("{} has no manifest: it cannot be copied as it is (convert writes one)", from.place.uri()));
  }
  SaveOptions save_options = options;
  save_options.step = from.manifest->step;
  save_options.metrics = from.manifest->metrics;
  ASSAY_ASSIGN_OR_RETURN(Save save, BeginSave(to, from.format, from.pointer, save_options));
  ASSAY_ASSIGN_OR_RETURN(const bool was_damaged, RemoveDamaged(save));
  if (was_damaged || !save.folder.empty()) {
    ASSAY_RETURN_IF_ERROR(RemoveKilledCopy(save, from));
  }
  save.id = from.id;
  const std::unique_ptr<FileSet> files = FilesOf(from);
  std::vector<FileToSave> to_save;
  FileLayout pointer;
  for (const ManifestFile& file : from.manifest->files) {
    ASSAY_ASSIGN_OR_RETURN(const auto source, files->Open(file.name));
    if (file.name == from.pointer) {
      pointer = LayOutWhole(file, source);
    } else {
      to_save.push_back({file.name, [&file, source]() -> Result<FileLayout> { return LayOutWhole(file, source); }});
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<SavedFile> saved, WriteAllSaved(save, to_save));
  return CommitSave(save, saved, std::move(pointer), from.manifest->structure);
}

}  // namespace assay::checkpoint
