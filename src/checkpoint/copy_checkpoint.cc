#include "checkpoint/copy_checkpoint.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "checkpoint/manage.h"

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

/// Names in the file that makes it valid are fixed, so what has them must go first. Where no such file stands they are
/// a killed copy's, though a file system without attributes keeps no mark of it.
Status RemoveKilledCopy(const Save& save, const Manifest& manifest) {
  const Place& to = save.place;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Leftover> leftovers, FindLeftovers(to, 0));
  ASSAY_RETURN_IF_ERROR(RemoveLeftovers(to, leftovers));
  std::vector<Leftover> unmarked;
  for (const ManifestFile& file : manifest.files) {
    const std::string key = to.KeyOf(file.name);
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
  if (!save.folder.empty()) {
    ASSAY_RETURN_IF_ERROR(RemoveKilledCopy(save, *from.manifest));
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
