#include "checkpoint/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/dcp/dcp_reader.h"
#include "checkpoint/manifest/checked_source.h"
#include "checkpoint/safetensors/safetensors_reader.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/torch/torch_reader.h"
#include "checkpoint/value/value_json.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

constexpr int64_t kMostManifestBytes = int64_t{4} << 30;

struct PointerForm {
  std::string_view ending;
  Format format;
  bool is_whole_name = false;

  bool Fits(std::string_view name) const { return is_whole_name ? name == ending : name.ends_with(ending); }
};

/// Names by which a folder's pointer is known, those that are preferred first.
constexpr PointerForm kPointers[] = {
    {"model.safetensors", Format::kSafetensors, true},
    {".safetensors.index.json", Format::kSafetensors},
    {".safetensors", Format::kSafetensors},
    {"pytorch_model.bin", Format::kTorch, true},
    {".bin.index.json", Format::kTorch},
    {".ckpt", Format::kLightning},
    {".pt", Format::kTorch},
    {".pth", Format::kTorch},
    {".bin", Format::kTorch},
};

/// What training leaves beside weights, by how its name begins.
constexpr std::string_view kBesideWeights[] = {"optimizer", "scheduler",     "scaler",
                                               "rng_state", "training_args", "random_states"};

/// Files of a folder that have the name, or the ending, of a pointer.
std::vector<std::string> NamesThatFit(const PointerForm& form, const FileList& files) {
  std::vector<std::string> names;
  for (const auto& [name, info] : files) {
    if (form.Fits(name) && !IsShardName(name) && !IsBesideWeights(name)) {
      names.push_back(name);
    }
  }
  return names;
}

std::optional<Format> FormatByName(std::string_view name) {
  const auto* row = std::ranges::find_if(kPointers, [&](const PointerForm& row) { return row.Fits(name); });
  return row == std::end(kPointers) ? std::nullopt : std::optional(row->format);
}

/// The format of a single object, by its name, else by how it begins.
Result<std::optional<PointerFile>> PointerOfObject(const Place& place) {
  const std::string name = place.LastName();
  if (const std::optional<Format> format = FormatByName(name)) {
    return std::optional(PointerFile{name, *format});
  }
  ASSAY_ASSIGN_OR_RETURN(const auto source, OpenObject(place.store, place.key, place.cancel));
  ASSAY_ASSIGN_OR_RETURN(const std::string head, ReadText(*source, 0, std::min<int64_t>(source->bytes(), 9)));
  if (head.starts_with("PK\x03\x04") || head.starts_with("\x80\x02\x8a\x0a")) {
    return std::optional(PointerFile{name, Format::kTorch});
  }
  return head.size() == 9 && head[8] == '{' ? std::optional(PointerFile{name, Format::kSafetensors})
                                            : std::optional<PointerFile>();
}

bool IsIndex(const std::string& name) {
  return name.ends_with(".index.json");
}

Result<std::string> ReadPointerId(const Found& found) {
  ASSAY_ASSIGN_OR_RETURN(auto source, OpenObject(found.place.store, found.pointer_info, found.place.cancel));
  if (IsIndex(found.pointer)) {
    ASSAY_ASSIGN_OR_RETURN(const ShardIndex index, ReadShardIndex(*source));
    return index.save_id;
  }
  switch (found.format) {
    case Format::kSafetensors: {
      ASSAY_ASSIGN_OR_RETURN(const SafetensorsFile file, ReadSafetensorsFile(std::move(source)));
      const auto id = file.header.metadata.find(kSaveIdKey);
      return id == file.header.metadata.end() ? std::string() : id->second;
    }
    case Format::kTorch:
    case Format::kLightning: {
      // Ours are the last 20 of 40 digits.
      ASSAY_ASSIGN_OR_RETURN(const std::string id, ReadSerializationId(std::move(source)));
      return id.size() == 40 && id.starts_with(std::string(20, '0')) ? id.substr(20) : id;
    }
    case Format::kDcp: {
      ASSAY_ASSIGN_OR_RETURN(const std::string bytes, ReadBounded(*source, kMostDcpMetadataBytes));
      ASSAY_ASSIGN_OR_RETURN(const DcpMetadata metadata, ReadDcpMetadata(bytes, source->uri()));
      return metadata.save_id;
    }
  }
  return std::string();
}

Result<Manifest> ReadManifestOf(const Place& place, const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(const auto source, OpenObject(place.store, place.KeyOf(name), place.cancel));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadBounded(*source, kMostManifestBytes));
  return ReadManifest(text, source->uri());
}

/// Whether it may be the id of a save of ours: 20 digits.
bool LooksLikeOurs(const std::string& id) {
  return id.size() == 20 && std::ranges::all_of(id, [](char digit) { return digit >= '0' && digit <= '9'; });
}

/// The id in the name of a manifest, be it of a folder's save or of one file's.
std::optional<std::string> IdOfManifest(const std::string& name, const Found& found) {
  const std::optional<std::string> of_file = ManifestIdOf(name, found.pointer);
  return of_file || !found.place.is_folder ? of_file : ManifestIdOf(name, "");
}

/// The manifest that the pointer names, by its name: a file's listing has none of its folder's, and some stores' lists
/// lag behind what was written.
Status FindManifest(Found& found) {
  for (const std::string& name : {ManifestName("", found.id), ManifestName(found.pointer, found.id)}) {
    ASSAY_ASSIGN_OR_RETURN(const auto there, found.place.store->Stat(found.place.KeyOf(name), found.place.cancel));
    if (there) {
      ASSAY_ASSIGN_OR_RETURN(Manifest manifest, ReadManifestOf(found.place, name));
      found.manifest = std::make_shared<const Manifest>(std::move(manifest));
      found.manifest_name = name;
      return Status::Ok();
    }
  }
  return Status::Ok();
}

/// Reads the manifests beside the pointer.
Status ReadManifests(const FileList& files, Found& found) {
  for (const auto& [name, info] : files) {
    const std::optional<std::string> id = IdOfManifest(name, found);
    if (!id) {
      continue;
    }
    if (*id == found.id) {
      ASSAY_ASSIGN_OR_RETURN(Manifest manifest, ReadManifestOf(found.place, name));
      found.manifest = std::make_shared<const Manifest>(std::move(manifest));
      found.manifest_name = name;
      continue;
    }
    const Result<Manifest> other = ReadManifestOf(found.place, name);
    const bool is_of_another = other.ok() && other->pointer != found.pointer;
    if (!is_of_another && (!other.ok() || other->replaced_etag != found.pointer_info.etag)) {
      found.strangers.push_back(*id);
    }
  }
  if (found.manifest == nullptr && LooksLikeOurs(found.id)) {
    ASSAY_RETURN_IF_ERROR(FindManifest(found));
  }
  if (found.manifest != nullptr) {
    found.strangers.clear();
  }
  return Status::Ok();
}

/// Files as their manifest describes them.
class CheckedFiles final : public FileSet {
 public:
  CheckedFiles(Place place, std::shared_ptr<const Manifest> manifest)
      : FileSet(std::move(place)), manifest_(std::move(manifest)) {}

  std::optional<int64_t> FindTensor(const std::string& name, int64_t begin, int64_t end, int64_t bytes) const override {
    const ManifestFile* file = manifest_->Find(name);
    if (file == nullptr) {
      return std::nullopt;
    }
    const auto item = std::ranges::lower_bound(file->items, begin, {}, &ManifestItem::offset);
    const bool is_it = item != file->items.end() && item->bytes == bytes && item->offset <= end - bytes;
    return is_it ? std::optional(item->offset) : std::nullopt;
  }

 protected:
  Result<std::shared_ptr<const DataSource>> OpenNew(const std::string& name) override {
    ASSAY_ASSIGN_OR_RETURN(auto source,
                           OpenObject(place().store, place().KeyOf(name), place().cancel, /*verify=*/false));
    const ManifestFile* file = manifest_->Find(name);
    if (file == nullptr) {
      return Status::InvalidArgument(
          fmt::format("{} belongs to the checkpoint, but its manifest does not list it", source->uri()));
    }
    return CheckSums(std::move(source), std::shared_ptr<const ManifestFile>(manifest_, file));
  }

 private:
  std::shared_ptr<const Manifest> manifest_;
};

/// The tree, as the manifest keeps it or as the leaves' paths tell.
Result<Value> RootOf(const Found& found, const std::vector<Leaf>& leaves) {
  if (found.manifest == nullptr || found.manifest->structure.is_null()) {
    return Unflatten(leaves);
  }
  std::map<std::string, Value> by_name;
  for (const Leaf& leaf : leaves) {
    by_name[leaf.name] = leaf.value;
  }
  return ValueFromJson(found.manifest->structure, by_name, found.place.uri());
}

Result<Value> ReadRoot(const Found& found, FileSet& files) {
  if (found.format == Format::kDcp) {
    ASSAY_ASSIGN_OR_RETURN(const DcpMetadata metadata, ReadDcpMetadataOf(files));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<Leaf> leaves, ReadDcpLeaves(metadata, files));
    return RootOf(found, leaves);
  }
  if (IsIndex(found.pointer)) {
    return ReadShards(files, found.pointer, found.format);
  }
  ASSAY_ASSIGN_OR_RETURN(auto source, files.Open(found.pointer));
  if (found.format != Format::kSafetensors) {
    return ReadTorchFile(std::move(source), [&](int64_t begin, int64_t end, int64_t bytes) {
      return files.FindTensor(found.pointer, begin, end, bytes);
    });
  }
  const std::string uri = source->uri();
  ASSAY_ASSIGN_OR_RETURN(const SafetensorsFile file, ReadSafetensorsFile(std::move(source)));
  return StateOfSafetensors(file, uri);
}

}  // namespace

std::optional<PointerFile> PointerInFolder(const FileList& files) {
  for (const char* name : {kDcpMetadataName, "__0.metadata"}) {
    if (files.contains(name)) {
      return PointerFile{name, Format::kDcp};
    }
  }
  bool is_ambiguous = false;
  for (const PointerForm& row : kPointers) {
    const std::vector<std::string> names = NamesThatFit(row, files);
    if (names.size() == 1 && (row.is_whole_name || !is_ambiguous)) {
      return PointerFile{names.front(), row.format};
    }
    is_ambiguous = is_ambiguous || names.size() > 1;
  }
  return std::nullopt;
}

bool IsBesideWeights(std::string_view name) {
  return std::ranges::any_of(kBesideWeights, [&](std::string_view begin) { return name.starts_with(begin); });
}

bool IsShardName(std::string_view name) {
  constexpr std::string_view kForm = "-00000-of-00000.";
  for (size_t at = 0; at + kForm.size() <= name.size(); ++at) {
    const bool fits = std::ranges::equal(kForm, name.substr(at, kForm.size()), [](char form, char letter) {
      return form == '0' ? letter >= '0' && letter <= '9' : form == letter;
    });
    if (fits) {
      return true;
    }
  }
  return false;
}

Result<FileList> ListFiles(const Place& place) {
  FileList files;
  storage::ListOptions list;
  list.prefix = place.key;
  list.cancel = place.cancel;
  list.delimiter = "/";
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    for (storage::ObjectInfo& info : page.objects) {
      std::string name = place.NameOf(info.key);
      files.emplace(std::move(name), std::move(info));
    }
    return storage::IsCancelled(place.cancel) ? storage::CancelledStatus("list", place.uri()) : Status::Ok();
  }));
  return files;
}

namespace {

bool ShowsPointer(const Place& place, const FileList& files) {
  return place.is_folder ? PointerInFolder(files).has_value() : files.contains(place.LastName());
}

/// The usual pointers that stand, whatever lists show.
Result<FileList> StatPointers(const Place& place) {
  std::vector<std::string> names = {place.LastName()};
  if (place.is_folder) {
    names = {kDcpMetadataName, "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"};
  }
  // Side by side: each is a wait of a training that saves.
  std::vector<Result<std::optional<storage::ObjectInfo>>> infos(names.size(), Status::Internal("not asked"));
  const auto count = static_cast<int>(names.size());
  ParallelFor(count, count, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    infos[at] = place.store->Stat(place.KeyOf(names[at]), place.cancel);
  });
  FileList files;
  for (size_t i = 0; i < names.size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(auto info, std::move(infos[i]));
    if (info) {
      files.emplace(names[i], std::move(*info));
    }
  }
  return files;
}

}  // namespace

Result<std::optional<Found>> FindCheckpoint(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(FileList files, ListFiles(place));
  if (!ShowsPointer(place, files)) {
    ASSAY_ASSIGN_OR_RETURN(FileList pointers, StatPointers(place));
    files.merge(pointers);
  }
  return FindIn(place, files);
}

Result<FileList> ListFilesAndPointers(const Place& place) {
  auto asked = std::async(std::launch::async, [&] { return StatPointers(place); });
  ASSAY_ASSIGN_OR_RETURN(FileList files, ListFiles(place));
  ASSAY_ASSIGN_OR_RETURN(FileList pointers, asked.get());
  if (!ShowsPointer(place, files)) {
    files.merge(pointers);
  }
  return files;
}

Result<std::optional<Found>> FindIn(const Place& place, const FileList& files) {
  std::optional<PointerFile> pointer;
  if (place.is_folder) {
    pointer = PointerInFolder(files);
  } else if (files.contains(place.LastName())) {
    ASSAY_ASSIGN_OR_RETURN(pointer, PointerOfObject(place));
  }
  if (!pointer) {
    return std::optional<Found>();
  }
  Found found = {.place = place, .format = pointer->format, .pointer = pointer->name};
  found.pointer_info = files.at(found.pointer);
  ASSAY_ASSIGN_OR_RETURN(found.id, ReadPointerId(found));
  ASSAY_RETURN_IF_ERROR(ReadManifests(files, found));
  return std::optional(std::move(found));
}

std::unique_ptr<FileSet> FilesOf(const Found& found) {
  if (found.manifest == nullptr) {
    return std::make_unique<FileSet>(found.place);
  }
  return std::make_unique<CheckedFiles>(found.place, found.manifest);
}

Status NoCheckpoint(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(const FileList files, ListFiles(place));
  std::string why = ".metadata, safetensors with or without an index, a file of torch.save";
  for (const auto& [name, info] : files) {
    if (IsShardName(name)) {
      why = fmt::format("{} is a shard, and no index says of what", name);
      break;
    }
  }
  for (const PointerForm& row : kPointers) {
    if (const std::vector<std::string> names = NamesThatFit(row, files); place.is_folder && names.size() > 1) {
      why = fmt::format("{} files could be it, {} and {} among them: name one", names.size(), names[0], names[1]);
      break;
    }
  }
  return Status::NotFound(fmt::format("there is no checkpoint at {} ({})", place.uri(), why));
}

Result<Checkpoint> OpenCheckpoint(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<Found> found, FindCheckpoint(place));
  if (!found) {
    return NoCheckpoint(place);
  }
  return OpenCheckpoint(std::move(*found));
}

Result<Checkpoint> OpenCheckpoint(Found found) {
  const std::unique_ptr<FileSet> files = FilesOf(found);
  ASSAY_ASSIGN_OR_RETURN(Value root, ReadRoot(found, *files));
  Checkpoint checkpoint = {.found = std::move(found)};
  ASSAY_ASSIGN_OR_RETURN(checkpoint.state, State::Of(std::move(root)));
  checkpoint.step = StepOf(checkpoint.found);
  if (const Value* step = checkpoint.state.root.Find("global_step");
      step != nullptr && step->get<int64_t>() != nullptr && !checkpoint.step) {
    checkpoint.step = *step->get<int64_t>();
  }
  return checkpoint;
}

Result<std::vector<std::string>> NamesOf(const Found& found) {
  std::set<std::string> names = {found.pointer};
  if (found.manifest != nullptr) {
    for (const ManifestFile& file : found.manifest->files) {
      names.insert(file.name);
    }
    names.insert(found.manifest_name);
  } else if (found.format == Format::kDcp) {
    FileSet files(found.place);
    ASSAY_ASSIGN_OR_RETURN(const DcpMetadata metadata, ReadDcpMetadataOf(files));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> of_metadata, MetadataNamesOf(found.place));
    names.insert(of_metadata.begin(), of_metadata.end());
    for (const DcpEntry& entry : metadata.entries) {
      for (const DcpChunk& chunk : entry.chunks) {
        names.insert(chunk.place.file);
      }
    }
  } else if (IsIndex(found.pointer)) {
    FileSet files(found.place);
    ASSAY_ASSIGN_OR_RETURN(const auto source, files.Open(found.pointer));
    ASSAY_ASSIGN_OR_RETURN(const ShardIndex index, ReadShardIndex(*source));
    names.insert(index.files.begin(), index.files.end());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::optional<int64_t> StepOf(const Found& found) {
  if (found.manifest != nullptr && found.manifest->step) {
    return found.manifest->step;
  }
  const std::string name = found.place.LastName();
  const size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) {
    return std::nullopt;
  }
  const size_t before = name.find_last_not_of("0123456789", end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  int64_t step = 0;
  const auto [rest, error] = std::from_chars(name.data() + begin, name.data() + end + 1, step);
  return error == std::errc() ? std::optional(step) : std::nullopt;
}

}  // namespace assay::checkpoint
