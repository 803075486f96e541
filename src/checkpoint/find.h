// Finds out what stands at a place: which format, which file makes it valid, whether a save of ours wrote it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest/manifest.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

/// Files of a folder by their names in it, or the one object; what is in folders below is not among them.
using FileList = std::map<std::string, storage::ObjectInfo>;

struct Found {
  Place place{};
  Format format = Format::kDcp;
  std::string pointer{};  ///< the file that makes it valid
  storage::ObjectInfo pointer_info{};
  std::string id{};  ///< that the pointer names; empty: none
  /// Of the save that wrote the pointer. Null: the pointer is not ours, or its manifest is gone.
  std::shared_ptr<const Manifest> manifest{};
  std::string manifest_name{};  ///< of that file
  /// Ids of manifests beside it that belong to another save, and are no leftover of one that meant to replace it: the
  /// pointer is damaged, or another program wrote over it.
  std::vector<std::string> strangers{};
};

/// The file of a folder that makes a checkpoint of it.
struct PointerFile {
  std::string name{};
  Format format = Format::kDcp;
};
/// By the names alone; nothing where none is one, or several of the form that comes first could be.
std::optional<PointerFile> PointerInFolder(const FileList& files);
/// Whether a name is that of a shard ("model-00001-of-00002.safetensors"), which is no checkpoint without its index.
bool IsShardName(std::string_view name);
/// Whether a name is that of what training leaves beside weights ("optimizer.pt", "rng_state_0.pth"): no pointer of a
/// folder.
bool IsBesideWeights(std::string_view name);

/// Nothing where no checkpoint stands. The errors are those of the store, and of a pointer or manifest that cannot be
/// read.
Result<std::optional<Found>> FindCheckpoint(const Place& place);
/// Likewise in what was listed of the place already.
Result<std::optional<Found>> FindIn(const Place& place, const FileList& files);

/// What is at the place. Of a folder one level.
Result<FileList> ListFiles(const Place& place);
/// Likewise, and the usual pointers that stand though the list shows none: lists of some stores lag behind what was
/// written. All is asked at once, which is a request for each of them also where the list shows one.
Result<FileList> ListFilesAndPointers(const Place& place);

/// NotFound, with why nothing at the place is one; an error of its store.
Status NoCheckpoint(const Place& place);

/// The files of the checkpoint, opened: with checksums where it has a manifest.
std::unique_ptr<FileSet> FilesOf(const Found& found);

/// A checkpoint, opened: its tensors where they lie, its plain values read.
struct Checkpoint {
  Found found{};
  State state{};
  std::optional<int64_t> step{};
};
Result<Checkpoint> OpenCheckpoint(const Place& place);
Result<Checkpoint> OpenCheckpoint(Found found);

/// Names of all files that belong to it, relative to its place, its manifest among them.
Result<std::vector<std::string>> NamesOf(const Found& found);

/// The training step that it is of: as its manifest says, else the last number in its name ("step-100", "epoch_3").
std::optional<int64_t> StepOf(const Found& found);

}  // namespace assay::checkpoint
