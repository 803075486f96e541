// Listing with many requests at a time: key ranges split among workers that are out of work.
#pragma once

#include <bitset>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Requests at a time that list a bucket fast without being throttled for it.
inline constexpr int kListWorkers = 8;

/// Pages that were listed and not given yet: with pages of 1,000 objects some 350 KB each.
inline constexpr int kMostWaitingPages = 64;

struct ParallelListOptions {
  int workers = kListWorkers;
  bool ordered = true;       ///< false: pages come as they are had, and none waits for those before it
  int64_t most_objects = 0;  ///< the listing ends after so many, rolled-up prefixes among them; 0: all
};

/// Gives `sink` every page of the listing, in the order of a sequential one unless that is not asked for, called by
/// this thread; page tokens are empty. An error of the sink ends the listing.
///
/// The first page is asked for alone: small listings cost what they cost otherwise. Then up to `workers` requests run
/// at a time. A worker without work takes the upper half of a range that another still lists, cut where the keys seen
/// so far make the middle likely; a bad guess costs one request. Pages wait in memory until those before them are
/// given: kMostWaitingPages of them and one a worker, beyond which only what comes next is asked for. A page that does
/// not go on behind the one before it, or leads back to one that was given, is an error. With a delimiter the pages
/// follow one another: where a rolled-up prefix ends is only known to the store.
Status ListInParallel(ObjectStore& store, const ListOptions& options, const ParallelListOptions& parallel,
                      const std::function<Status(ListPage page)>& sink);
inline Status ListInParallel(ObjectStore& store, const ListOptions& options, int workers,
                             const std::function<Status(ListPage page)>& sink) {
  return ListInParallel(store, options, ParallelListOptions{.workers = workers}, sink);
}

/// A key that splits what lies behind `low` and before `high` (empty: no end) about evenly, if keys hold the printable
/// ASCII bytes `alphabet` alike often; nothing when there is no such key.
std::optional<std::string> KeyBetween(const std::string& low, const std::string& high,
                                      const std::bitset<128>& alphabet);

}  // namespace assay::storage
