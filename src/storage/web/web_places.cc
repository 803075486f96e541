#include "storage/web/web_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/auth/time_format.h"
#include "storage/transfer/object_headers.h"
#include "storage/web/web_urls.h"

namespace assay::storage {
namespace {

/// Objects that are remembered; what is forgotten is learned again.
constexpr size_t kMaxPlaces = 10'000;
constexpr size_t kMaxVersions = 8;
constexpr int kMaxRedirects = 10;
constexpr std::string_view kByTime = "modified=";
constexpr std::string_view kBySize = "size=";

void SetAgain(Failure& failure) {
  failure = MakeFailure(FailureClass::kAgain, ErrorCode::kIo, "another address is asked");
}

/// Such failures are answers; others may be gone the next time.
bool IsLasting(const Failure& failure) {
  return failure.kind == FailureClass::kMissing || failure.kind == FailureClass::kDenied ||
         failure.kind == FailureClass::kPrecondition;
}

bool IsUnreachable(const Failure& failure) {
  return failure.kind == FailureClass::kConnect || failure.kind == FailureClass::kTimeout;
}

}  // namespace

std::string WebValidators::Version(int64_t size) const {
  if (strong()) {
    return EtagOf(etag);
  }
  const std::string weak = etag.empty() ? "" : "W/" + EtagOf(etag);
  if (!modified.empty()) {
    return fmt::format("{}{}{}{}", weak, weak.empty() ? "" : " ", kByTime, modified);
  }
  return weak.empty() ? fmt::format("{}{}", kBySize, size) : weak;
}

WebValidators WebValidatorsOf(const http::Headers& headers) {
  WebValidators validators;
  const std::string etag(headers.Find("etag").value_or(""));
  validators.etag = EtagOf(etag).empty() ? std::string() : etag;
  validators.modified = headers.Find("last-modified").value_or("");
  const double now = ParseHttpDate(headers.Find("date").value_or("")).value_or(WallClockSeconds());
  validators.settled = ParseHttpDate(validators.modified).value_or(now) + 1 <= now;
  return validators;
}

WebPlaces::Place& WebPlaces::PlaceOf(const std::string& key) {
  const auto found = places_.find(key);
  if (found != places_.end()) {
    return found->second;
  }
  if (places_.size() >= kMaxPlaces) {
    places_.erase(places_.begin());
  }
  Place& place = places_[key];
  place.folder = preferred_;
  return place;
}

std::string WebPlaces::UrlAt(const std::string& key, const Place& place) const {
  return place.redirect.empty() ? WebFileUrl(folders_[place.folder], key) : place.redirect;
}

size_t WebPlaces::FolderOf(const Asked& asked, const Place& place) const {
  for (size_t folder = 0; folder < folders_.size(); ++folder) {
    if (asked.url == WebFileUrl(folders_[folder], asked.key)) {
      return folder;
    }
  }
  return place.folder;
}

void WebPlaces::GoTo(size_t folder, Place& place) {
  place.folder = folder;
  place.redirect.clear();
  place.has_served = false;
  place.redirects = 0;
}

std::string WebPlaces::UrlOf(const std::string& key, const std::string& version) {
  const std::lock_guard lock(mutex_);
  Place& place = PlaceOf(key);
  if (version.empty() && place.has_served) {
    GoTo(place.folder, place);
  }
  return UrlAt(key, place);
}

void WebPlaces::AddCondition(const std::string& key, const std::string& version, http::Headers& headers) {
  if (version.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const Place& place = PlaceOf(key);
  const auto known = std::ranges::find(place.versions, version, &Version::name);
  WebValidators here;
  if (known != place.versions.end()) {
    const auto at = known->at.find(place.folder);
    here = at == known->at.end() ? WebValidators() : at->second;
  } else if (version.starts_with(kByTime)) {
    here.modified = version.substr(kByTime.size());
  } else if (folders_.size() == 1 && !version.starts_with(kBySize) && !version.starts_with("W/")) {
    here.etag = '"' + version + '"';
  }
  if (here.strong()) {
    headers.Add("if-match", here.etag);
  } else if (!here.modified.empty()) {
    headers.Add("if-unmodified-since", here.modified);
  }
}

std::string WebPlaces::Recognise(const Asked& asked, const ObjectInfo& info, const WebValidators& validators) {
  const std::lock_guard lock(mutex_);
  Place& place = PlaceOf(asked.key);
  if (asked.url == UrlAt(asked.key, place)) {
    place.has_served = true;
    place.redirects = 0;
  }
  const size_t folder = FolderOf(asked, place);
  std::string name = validators.Version(info.size);
  const auto is_same = [&](const Version& version) {
    const auto at = version.at.find(folder);
    if (version.size != info.size || at != version.at.end()) {
      return version.size == info.size && at->second.Version(info.size) == name;
    }
    if (version.checksum && info.checksum && version.checksum->kind == info.checksum->kind) {
      return *version.checksum == *info.checksum;
    }
    return version.name == name || (info.modified > 0 && version.modified == info.modified);
  };
  const auto known = std::ranges::find_if(place.versions, is_same);
  if (known != place.versions.end()) {
    known->at[folder] = validators;
    return known->name;
  }
  if (place.versions.size() == kMaxVersions) {
    place.versions.erase(place.versions.begin());
  }
  place.versions.push_back({name, info.size, info.modified, info.checksum, {{folder, validators}}});
  return name;
}

void WebPlaces::Redirect(const Asked& asked, const std::string& reference, Failure& failure) {
  const std::lock_guard lock(mutex_);
  Place& place = PlaceOf(asked.key);
  if (asked.url != UrlAt(asked.key, place)) {
    SetAgain(failure);
    return;
  }
  std::optional<std::string> target = RedirectTarget(asked.url, reference);
  if (!target || ++place.redirects > kMaxRedirects) {
    failure.message = target ? fmt::format("more than {} redirects lead on from one to the next", kMaxRedirects)
                             : "it is redirected to what is no https URL, or from https to http";
    GoTo(place.folder, place);
    return;
  }
  place.redirect = *std::move(target);
  place.has_served = false;
  SetAgain(failure);
}

void WebPlaces::Leave(const Asked& asked, Failure& failure) {
  const std::lock_guard lock(mutex_);
  Place& place = PlaceOf(asked.key);
  if (asked.url != UrlAt(asked.key, place)) {
    SetAgain(failure);  // others have gone elsewhere meanwhile
    return;
  }
  const bool was_redirected = !place.redirect.empty();
  const bool has_ended =
      was_redirected && place.has_served && IsLasting(failure) && failure.kind != FailureClass::kPrecondition;
  GoTo(place.folder, place);
  if (has_ended) {
    SetAgain(failure);
    return;
  }
  place.failed.insert_or_assign(place.folder, failure);
  size_t next = place.folder;
  do {
    next = (next + 1) % folders_.size();
  } while (place.failed.contains(next) && next != place.folder);
  if (IsUnreachable(failure) && preferred_ == place.folder) {
    preferred_ = next;
  }
  if (!place.failed.contains(next)) {
    GoTo(next, place);
    SetAgain(failure);
    return;
  }
  // Where one could not be asked, nobody knows that the object is not there.
  const auto open = std::ranges::find_if(place.failed, [](const auto& entry) { return !IsLasting(entry.second); });
  if (IsLasting(failure) && open != place.failed.end()) {
    failure = open->second;
  }
  place.failed.clear();
  GoTo((place.folder + 1) % folders_.size(), place);
}

bool WebPlaces::is_served_whole(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return PlaceOf(key).served_whole;
}

void WebPlaces::SetServedWhole(const std::string& key) {
  const std::lock_guard lock(mutex_);
  PlaceOf(key).served_whole = true;
}

}  // namespace assay::storage
