#include "checkpoint/manage.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/removable.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

/// Checkpoints whose pointers are read at a time.
constexpr int kPointersAtATime = 8;

/// Endings of files that are a checkpoint each.
constexpr std::string_view kSingleFiles[] = {".ckpt", ".pt", ".pth"};

bool EndsAsSingleFile(std::string_view name) {
  return std::ranges::any_of(kSingleFiles, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool IsSingleFile(std::string_view name) {
  return !IsShardName(name) && EndsAsSingleFile(name) && !IsBesideWeights(name);
}

/// The pointer of a folder that is a checkpoint as a whole; nothing where its files are one each.
std::optional<PointerFile> PointerOfWhole(const FileList& files) {
  const std::optional<PointerFile> pointer = PointerInFolder(files);
  return pointer && !EndsAsSingleFile(pointer->name) ? pointer : std::nullopt;
}

/// Objects under a place, by folder: its key, and what is in it.
using Folders = std::map<std::string, FileList>;

Result<Folders> ListFolders(const Place& place) {
  Folders folders;
  storage::ListOptions list;
  list.prefix = place.key;
  list.cancel = place.cancel;
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    for (storage::ObjectInfo& info : page.objects) {
      const size_t slash = info.key.rfind('/');
      const size_t begin = slash == std::string::npos ? 0 : slash + 1;
      FileList& files = folders[info.key.substr(0, begin)];
      std::string name = info.key.substr(begin);
      files.emplace(std::move(name), std::move(info));
    }
    return storage::IsCancelled(place.cancel) ? storage::CancelledStatus("list", place.uri()) : Status::Ok();
  }));
  return folders;
}

/// Files of a checkpoint may lie in folders below it.
const storage::ObjectInfo* FindFile(const Folders& folders, const std::string& key) {
  const size_t slash = key.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const auto folder = folders.find(key.substr(0, begin));
  if (folder == folders.end()) {
    return nullptr;
  }
  const auto file = folder->second.find(key.substr(begin));
  return file == folder->second.end() ? nullptr : &file->second;
}

struct Candidate {
  Place place;
  FileList files;
};

std::vector<Candidate> CandidatesIn(const Place& place, const Folders& folders) {
  std::vector<Candidate> candidates;
  if (!place.is_folder) {
    const auto folder = folders.find(place.KeyOf(""));
    candidates.push_back({place, folder == folders.end() ? FileList() : folder->second});
    return candidates;
  }
  for (const auto& [key, files] : folders) {
    const std::optional<PointerFile> whole = PointerOfWhole(files);
    if (whole) {
      candidates.push_back({{place.store, key, true, place.cancel}, files});
    }
    for (const auto& [name, info] : files) {
      const bool is_other = name.ends_with(".safetensors") && !IsShardName(name) && (!whole || name != whole->name);
      if (IsSingleFile(name) || is_other) {
        candidates.push_back({{place.store, info.key, false, place.cancel}, files});
      }
    }
  }
  return candidates;
}

/// Why it is not offered; ok where it is.
Status Describe(Found found, const Folders& folders, ListedCheckpoint& listed) {
  const std::string pointer = found.place.store->Uri(found.place.KeyOf(found.pointer));
  if (!found.strangers.empty()) {
    return Status::InvalidArgument(fmt::format("{} does not name the save whose manifest stands beside it", pointer));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(found));
  for (const std::string& name : names) {
    const storage::ObjectInfo* info = FindFile(folders, found.place.KeyOf(name));
    if (info == nullptr) {
      return Status::NotFound(fmt::format("its file {} is missing", name));
    }
    const ManifestFile* file = found.manifest == nullptr ? nullptr : found.manifest->Find(name);
    if (file != nullptr && file->bytes != info->size) {
      return Status::InvalidArgument(fmt::format("its file {} has {} bytes and not {}", name, info->size, file->bytes));
    }
    listed.bytes += info->size;
    listed.keys.push_back(info->key);
  }
  listed.uri = found.place.uri();
  listed.step = StepOf(found);
  listed.time = found.manifest != nullptr ? found.manifest->time : found.pointer_info.modified;
  listed.found = std::move(found);
  return Status::Ok();
}

std::vector<storage::ObjectInfo> UnnamedOf(Folders folders, const std::vector<ListedCheckpoint>& checkpoints) {
  std::set<std::string_view> named;
  for (const ListedCheckpoint& listed : checkpoints) {
    named.insert(listed.keys.begin(), listed.keys.end());
  }
  std::vector<storage::ObjectInfo> unnamed;
  for (auto& [key, files] : folders) {
    for (auto& [name, info] : files) {
      if (!named.contains(info.key)) {
        unnamed.push_back(std::move(info));
      }
    }
  }
  return unnamed;
}

bool ComesFirst(const ListedCheckpoint& a, const ListedCheckpoint& b) {
  return std::tuple(a.step.has_value(), a.step.value_or(0), a.time, a.uri) <
         std::tuple(b.step.has_value(), b.step.value_or(0), b.time, b.uri);
}

std::optional<double> MetricOf(const ListedCheckpoint& listed, const std::string& name) {
  if (listed.found.manifest == nullptr) {
    return std::nullopt;
  }
  const auto found = listed.found.manifest->metrics.find(name);
  return found == listed.found.manifest->metrics.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool NotOffered::is_unknown() const {
  const bool failed = why.code() == ErrorCode::kIo && !storage::IsChecksumMismatch(why);
  return failed || storage::IsChangedObject(why) || why.code() == ErrorCode::kOutOfMemory;
}

Result<Listing> ListCheckpoints(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(Folders folders, ListFolders(place));
  const std::vector<Candidate> candidates = CandidatesIn(place, folders);
  Listing listing;
  std::mutex mutex;
  Status failed;
  ParallelFor(static_cast<int64_t>(candidates.size()), kPointersAtATime, [&](int64_t i) {
    const Candidate& candidate = candidates[static_cast<size_t>(i)];
    Result<std::optional<Found>> found = FindIn(candidate.place, candidate.files);
    ListedCheckpoint listed;
    Status status = found.status();
    if (found.ok() && *found) {
      status = Describe(std::move(**found), folders, listed);
    }
    const std::lock_guard lock(mutex);
    if (status.code() == ErrorCode::kAborted || status.code() == ErrorCode::kPermissionDenied) {
      failed = status;
    } else if (!status.ok()) {
      listing.others.push_back({candidate.place.uri(), status});
    } else if (*found) {
      listing.checkpoints.push_back(std::move(listed));
    }
  });
  ASSAY_RETURN_IF_ERROR(failed);
  listing.unnamed = UnnamedOf(std::move(folders), listing.checkpoints);
  std::ranges::sort(listing.checkpoints, ComesFirst);
  std::ranges::sort(listing.others, {}, &NotOffered::uri);
  return listing;
}

Result<bool> IsDamaged(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(const Listing listing, ListCheckpoints(place));
  const auto other = std::ranges::find(listing.others, place.uri(), &NotOffered::uri);
  if (other != listing.others.end() && other->is_unknown()) {
    return other->why;
  }
  return other != listing.others.end();
}

Status RemoveCheckpoint(const Found& found) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::string> names, RemovableNamesOf(found));
  std::erase(names, found.pointer);
  storage::ObjectStore& store = *found.place.store;
  const std::string pointer = found.place.KeyOf(found.pointer);
  ASSAY_ASSIGN_OR_RETURN(const auto standing, store.Stat(pointer));
  if (!standing) {
    return Status::Ok();  // names of its files may be those of the next save by now
  }
  if (standing->etag != found.pointer_info.etag) {
    return Status::FailedPrecondition(
        fmt::format("{} was replaced meanwhile: nothing was removed (look again)", store.Uri(pointer)));
  }
  ASSAY_RETURN_IF_ERROR(store.Remove(pointer));
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    keys.push_back(found.place.KeyOf(name));
  }
  for (const Status& removed : store.RemoveMany(keys)) {
    ASSAY_RETURN_IF_ERROR(removed);
  }
  return Status::Ok();
}

std::vector<Status> RemoveCheckpoints(const std::vector<ListedCheckpoint>& checkpoints) {
  std::vector<Status> ends;
  for (const ListedCheckpoint& listed : checkpoints) {
    const bool is_cancelled = storage::IsCancelled(listed.found.place.cancel);
    ends.push_back(is_cancelled ? storage::CancelledStatus("remove", listed.uri) : RemoveCheckpoint(listed.found));
  }
  return ends;
}

Result<std::vector<ListedCheckpoint>> ToRemove(const Listing& listing, const RetentionOptions& options) {
  if (options.keep_last <= 0 && options.keep_best <= 0) {
    return Status::InvalidArgument("retention that keeps nothing is refused: say how many to keep");
  }
  std::vector<const ListedCheckpoint*> ours;
  for (const ListedCheckpoint& listed : listing.checkpoints) {
    if (listed.is_ours()) {
      ours.push_back(&listed);
    }
  }
  std::set<const ListedCheckpoint*> kept;
  for (size_t i = ours.size(); i > 0 && kept.size() < static_cast<size_t>(std::max(options.keep_last, 0)); --i) {
    kept.insert(ours[i - 1]);
  }
  std::vector<std::pair<double, const ListedCheckpoint*>> ranked;
  for (const ListedCheckpoint* listed : ours) {
    const std::optional<double> metric = MetricOf(*listed, options.metric);
    if (!metric && options.keep_last <= 0) {
      kept.insert(listed);
    } else if (metric && options.keep_best > 0) {
      ranked.emplace_back(options.highest_is_best ? -*metric : *metric, listed);
    }
  }
  if (options.keep_best > 0 && ranked.empty() && !ours.empty()) {
    return Status::InvalidArgument(
        fmt::format("no checkpoint has the metric '{}' to keep the best by", options.metric));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, const ListedCheckpoint*>::first);
  for (size_t i = 0; i < std::min(ranked.size(), static_cast<size_t>(std::max(options.keep_best, 0))); ++i) {
    kept.insert(ranked[i].second);
  }
  std::vector<ListedCheckpoint> removed;
  for (const ListedCheckpoint* listed : ours) {
    if (!kept.contains(listed)) {
      removed.push_back(*listed);
    }
  }
  return removed;
}

}  // namespace assay::checkpoint
