// Where each object of a web store is asked for: at which of its mirrors, where redirects lead, and what was learned of
// how it is served there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "storage/object_store.h"
#include "storage/transfer/dialect.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// By what a server tells one version of an object from another, as it sends it.
struct WebValidators {
  std::string etag;      ///< with its quotes, and the mark of a weak one
  std::string modified;  ///< the date's text
  /// It was modified a second ago or longer: another change would have another date (RFC 9110 section 8.8.2.2).
  bool settled = false;

  bool strong() const { return !etag.empty() && !etag.starts_with("W/"); }
  /// Two answers with the same ones are of the same version.
  bool tell_versions() const { return !etag.empty() || (!modified.empty() && settled); }
  /// What the version is called: a strong etag without its quotes, else a weak one ("W/1") and "modified=" the date, or
  /// one of both, else "size=" `size`.
  std::string Version(int64_t size) const;
};
WebValidators WebValidatorsOf(const http::Headers& headers);

/// Safe from several threads. Of a failure at one folder the next is asked; after all of them the failure stands, and
/// what is asked later begins anew. A redirect is followed for the version that it led to as long as it serves, and
/// asked for again when it does not any more (it may have ended: many are signed for minutes).
class WebPlaces {
 public:
  /// Folders of WebFolderUrl(): the first and its mirrors.
  explicit WebPlaces(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  const std::string& folder() const { return folders_.front(); }
  /// `version` empty: of the one that is there now, to which an earlier redirect may not lead any more.
  std::string UrlOf(const std::string& key, const std::string& version);
  /// Asks for that version alone, by what the server that is asked calls it; where that is not known, what came is
  /// looked at instead.
  void AddCondition(const std::string& key, const std::string& version, http::Headers& headers);

  /// An answer with an object came: what its version is called. Another folder has the same version where its size and
  /// its time, or its checksum, are the same.
  std::string Recognise(const Asked& asked, const ObjectInfo& info, const WebValidators& validators);
  /// `failure` became FailureClass::kAgain where another URL is to be asked.
  void Redirect(const Asked& asked, const std::string& reference, Failure& failure);
  void Leave(const Asked& asked, Failure& failure);

  /// No part of it is served by itself, or none that can be told from that of another version.
  bool is_served_whole(const std::string& key);
  void SetServedWhole(const std::string& key);

 private:
  struct Version {
    std::string name;
    int64_t size = 0;
    double modified = 0;
    std::optional<Checksum> checksum;
    std::map<size_t, WebValidators> at;  ///< by folder
  };
  struct Place {
    size_t folder = 0;
    std::string redirect;     ///< empty: none
    bool has_served = false;  ///< the redirect
    int redirects = 0;        ///< since an answer came
    bool served_whole = false;
    std::map<size_t, Failure> failed;  ///< folders, until all have
    std::vector<Version> versions;
  };

  // Need mutex_.
  Place& PlaceOf(const std::string& key);
  std::string UrlAt(const std::string& key, const Place& place) const;
  /// Which folder was asked.
  size_t FolderOf(const Asked& asked, const Place& place) const;
  void GoTo(size_t folder, Place& place);

  const std::vector<std::string> folders_;
  std::mutex mutex_;
  std::map<std::string, Place> places_;  // guarded by mutex_
  size_t preferred_ = 0;                 ///< folder that objects are first asked for at; guarded by mutex_
};

}  // namespace assay::storage
