#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "checkpoint/manage.h"
#include "checkpoint/save_mark.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<std::vector<storage::ObjectInfo>> ListAll(const Place& place) {
  std::vector<storage::ObjectInfo> objects;
  storage::ListOptions list;
  list.prefix = place.key;
  list.cancel = place.cancel;
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    std::ranges::move(page.objects, std::back_inserter(objects));
    return storage::IsCancelled(place.cancel) ? storage::CancelledStatus("list", place.uri()) : Status::Ok();
  }));
  return objects;
}

/// Keys that checkpoints name, whether they are whole or not: what belongs to a damaged one is no leftover.
Result<std::set<std::string>> NamedKeys(const Place& place) {
  ASSAY_ASSIGN_OR_RETURN(const Listing listing, ListCheckpoints(place));
  if (!listing.others.empty()) {
    return Status::FailedPrecondition(
        fmt::format("leftovers are not looked for while {} is damaged ({}): remove or "
                    "mend it first",
                    listing.others.front().uri, listing.others.front().why.message()));
  }
  std::set<std::string> keys;
  for (const ListedCheckpoint& listed : listing.checkpoints) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(listed.found));
    for (const std::string& name : names) {
      keys.insert(listed.found.place.KeyOf(name));
    }
  }
  return keys;
}

/// Whether a name is one that saves of ours give: only those are asked for their mark.
bool MayBeOurs(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  return name.ends_with(".distcp") || name.ends_with(".safetensors") || name.ends_with(".assay");
}

Status AddObjects(const Place& place, double older_than, std::vector<Leftover>& leftovers) {
  // In this order: a save that ends in between names what was listed.
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, ListAll(place));
  ASSAY_ASSIGN_OR_RETURN(const std::set<std::string> named, NamedKeys(place));
  for (const storage::ObjectInfo& object : objects) {
    if (named.contains(object.key) || !MayBeOurs(object.key) || object.modified > older_than) {
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const auto info, place.store->Stat(object.key));
    if (info && info->metadata.contains(kSaveIdMetadata)) {
      leftovers.push_back({place.store->Uri(object.key), object.key, "", info->size});
    }
  }
  return Status::Ok();
}

Status AddUploads(const Place& place, double older_than, std::vector<Leftover>& leftovers) {
  if (!place.store->capabilities().unfinished_uploads) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::UnfinishedUpload> uploads, place.store->ListUploads(place.key));
  for (const storage::UnfinishedUpload& upload : uploads) {
    if (upload.started <= older_than) {
      leftovers.push_back({place.store->Uri(upload.key), upload.key, upload.upload_id, 0});
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<Leftover>> FindLeftovers(const Place& place, double older_than_seconds) {
  std::vector<Leftover> leftovers;
  const double older_than = Now() - older_than_seconds;
  ASSAY_RETURN_IF_ERROR(AddObjects(place, older_than, leftovers));
  ASSAY_RETURN_IF_ERROR(AddUploads(place, older_than, leftovers));
  return leftovers;
}

Status RemoveLeftovers(const Place& place, const std::vector<Leftover>& leftovers) {
  Status first;
  std::vector<std::string> keys;
  for (const Leftover& leftover : leftovers) {
    if (leftover.upload_id.empty()) {
      keys.push_back(leftover.key);
      continue;
    }
    const Status aborted = place.store->AbortUpload(leftover.key, leftover.upload_id);
    first = first.ok() && aborted.code() != ErrorCode::kNotFound ? aborted : first;
  }
  for (const Status& removed : place.store->RemoveMany(keys)) {
    first = first.ok() ? removed : first;
  }
  return first;
}

}  // namespace assay::checkpoint
