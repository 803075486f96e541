// What lists must be, whoever answers: nothing is removed, copied or gone on with on the word of one that is not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/status.h"
#include "storage/object_store.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

/// Of one upload, at every store.
inline constexpr int kMaxParts = 10'000;

/// A list that was read and that contradicts itself or the question. Readers of lists say so with this code, and with
/// ErrorCode::kIo where a text is no list at all, which may come right next time.
inline Status ContradictoryList(std::string what) {
  return {ErrorCode::kUnsupported, std::move(what)};
}

/// A page of the listing that `options` ask for: keys that stores can hold, with its prefix, behind start_after, in
/// byte order and not rolled up; prefixes that end at their first delimiter.
Status CheckListPage(const ListOptions& options, const ListPage& page);
/// Where a token names the first key of the next page (DialectTraits): one with the prefix, behind all of this page.
Status CheckNextKey(const ListOptions& options, const ListPage& page);
/// Uploads of keys with that prefix, each with its id.
Status CheckUploads(std::string_view prefix, std::span<const UnfinishedUpload> uploads);
/// Parts with numbers from 1 to 10,000, in their order.
Status CheckParts(std::span<const UploadedPart> parts);

/// Pages that are followed without Progress(); stores give some without a key where many were removed.
inline constexpr size_t kMostPages = 1000;

/// The tokens of a list that is followed page by page. Memory: a number for each since the last Progress().
class PageTokens {
 public:
  /// `token` is to be asked for next. An error where it was before, or after kMostPages: the list would have no end.
  Status Take(const std::string& token);
  /// Something came that cannot come again.
  void Progress() { seen_.clear(); }

 private:
  std::unordered_set<size_t> seen_;  // hashes
};

}  // namespace assay::storage
