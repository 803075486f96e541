#include "checkpoint/copy_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manage.h"
#include "checkpoint/save_mark.h"
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

bool BearsMarkOf(const std::string& id, const storage::ObjectInfo& object) {
  const auto mark = object.metadata.find(kSaveIdMetadata);
  return mark != object.metadata.end() && mark->second == id;
}

/// What a killed copy left under `names`. Where no file makes a checkpoint valid they are nobody's, though a file
/// system without attributes keeps no mark of them; else those are that bear the mark of this save and do not belong to
/// what stands.
Result<std::vector<Leftover>> FindObjectsOfKilledCopy(const Save& save, const Found& from,
                                                      const std::set<std::string>& names) {
  const Place& to = save.place;
  std::vector<Leftover> left;
  for (const std::string& name : names) {
    const std::string key = to.KeyOf(name);
    ASSAY_ASSIGN_OR_RETURN(const auto standing, to.store->Stat(key, to.cancel));
    const bool stands_beside = std::ranges::find(save.replaced_files, name) == save.replaced_files.end();
    if (standing && (save.replaced_etag.empty() || (stands_beside && BearsMarkOf(from.id, *standing)))) {
      left.push_back({to.store->Uri(key), key, "", standing->size});
    }
  }
  return left;
}

/// Nothing of any other name: below the place other checkpoints may be in the making.
Result<std::vector<Leftover>> FindKilledCopy(const Save& save, const Found& from) {
  std::set<std::string> names = {from.manifest_name};
  std::ranges::transform(from.manifest->files, std::inserter(names, names.end()), &ManifestFile::name);
  names.erase(save.pointer);
  ASSAY_ASSIGN_OR_RETURN(std::vector<Leftover> left, FindObjectsOfKilledCopy(save, from, names));
  names.insert(save.pointer);
  ASSAY_ASSIGN_OR_RETURN(std::vector<Leftover> uploads, FindUploads(save.place, 0));
  const size_t place = save.place.key.size();
  std::erase_if(uploads, [&](const Leftover& upload) { return !names.contains(upload.key.substr(place)); });
  std::ranges::move(uploads, std::back_inserter(left));
  return left;
}

/// The etag of the file that makes what stands valid; empty where nothing does.
Result<std::string> PointerEtag(const Save& save) {
  ASSAY_ASSIGN_OR_RETURN(const auto standing, save.place.store->Stat(save.place.KeyOf(save.pointer)));
  return standing ? standing->etag : "";
}

/// Likewise what a killed copy left; or one that is not killed, but at work: the first to commit wins. Looking for it
/// takes long, so the file that decides is asked for right before the removal, and again after it: what was committed
/// in between has lost its files, and goes as what is damaged does.
Status RemoveKilledCopy(Save& save, const Found& from) {
  const Status another =
      Status::FailedPrecondition(fmt::format("{}: another save was committed meanwhile", save.place.uri()));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Leftover> left, FindKilledCopy(save, from));
  ASSAY_ASSIGN_OR_RETURN(const std::string before, PointerEtag(save));
  if (before != save.replaced_etag) {
    return another;
  }
  ASSAY_RETURN_IF_ERROR(RemoveLeftovers(save.place, left));
  ASSAY_ASSIGN_OR_RETURN(const std::string after, PointerEtag(save));
  if (after == save.replaced_etag) {
    return Status::Ok();
  }
  save.replaced_etag = after;
  ASSAY_ASSIGN_OR_RETURN(const bool was_damaged, RemoveDamaged(save));
  return was_damaged ? Status::Ok() : another;
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
  save_options.is_spread = true;  // files may lie in a folder of the save that wrote them
  ASSAY_ASSIGN_OR_RETURN(Save save, BeginSave(to, from.format, from.pointer, save_options));
  ASSAY_ASSIGN_OR_RETURN(const bool was_damaged, RemoveDamaged(save));
  ASSAY_ASSIGN_OR_RETURN(const auto manifest, to.store->Stat(to.KeyOf(from.manifest_name), to.cancel));
  if (was_damaged || manifest || !save.folder.empty()) {
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
