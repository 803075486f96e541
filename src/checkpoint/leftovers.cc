#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/manage.h"
#include "checkpoint/save_mark.h"

namespace assay::checkpoint {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// What belongs to a damaged one is no leftover.
Status CheckWhole(const Listing& listing) {
  return listing.others.empty() ? Status::Ok()
                                : Status::FailedPrecondition(fmt::format(
                                      "leftovers are not looked for while {} is damaged ({}): remove or mend it first",
                                      listing.others.front().uri, listing.others.front().why.message()));
}

/// Whether a name is one that saves of ours give: only those are asked for their mark.
bool MayBeOurs(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  return name.ends_with(".distcp") || name.ends_with(".safetensors") || name.ends_with(".assay");
}

Status AddObjects(const Place& place, const Listing& looked, double older_than, std::vector<Leftover>& leftovers) {
  ASSAY_RETURN_IF_ERROR(CheckWhole(looked));
  const auto may_be_left = [older_than](const storage::ObjectInfo& object) {
    return MayBeOurs(object.key) && object.modified <= older_than;
  };
  std::set<std::string_view> keys;
  for (const storage::ObjectInfo& object : looked.unnamed) {
    if (may_be_left(object)) {
      keys.insert(object.key);
    }
  }
  if (keys.empty()) {
    return Status::Ok();
  }
  // A save that has ended since then names what was listed.
  ASSAY_ASSIGN_OR_RETURN(const Listing again, ListCheckpoints(place));
  ASSAY_RETURN_IF_ERROR(CheckWhole(again));
  for (const storage::ObjectInfo& object : again.unnamed) {
    if (!keys.contains(object.key) || !may_be_left(object)) {
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const auto info, place.store->Stat(object.key));
    if (info && info->metadata.contains(kSaveIdMetadata)) {
      leftovers.push_back({place.store->Uri(object.key), object.key, "", info->size});
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<Leftover>> FindUploads(const Place& place, double older_than_seconds) {
  std::vector<Leftover> leftovers;
  if (!place.store->capabilities().unfinished_uploads) {
    return leftovers;
  }
  const double older_than = Now() - older_than_seconds;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::UnfinishedUpload> uploads,
                         place.store->ListUploads(place.key, place.cancel));
  for (const storage::UnfinishedUpload& upload : uploads) {
    if (upload.started <= older_than) {
      leftovers.push_back({place.store->Uri(upload.key), upload.key, upload.upload_id, 0});
    }
  }
  return leftovers;
}

Result<std::vector<Leftover>> FindLeftovers(const Place& place, double older_than_seconds) {
  ASSAY_ASSIGN_OR_RETURN(const Listing listing, ListCheckpoints(place));
  return FindLeftovers(place, listing, older_than_seconds);
}

Result<std::vector<Leftover>> FindLeftovers(const Place& place, const Listing& looked, double older_than_seconds) {
  std::vector<Leftover> leftovers;
  ASSAY_RETURN_IF_ERROR(AddObjects(place, looked, Now() - older_than_seconds, leftovers));
  ASSAY_ASSIGN_OR_RETURN(std::vector<Leftover> uploads, FindUploads(place, older_than_seconds));
  std::ranges::move(uploads, std::back_inserter(leftovers));
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
