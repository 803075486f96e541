// The parts of an upload: what was sent of each, and what the store says it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// Whether `listed`, a part as the store lists it, is proven to hold the bytes of `sent`: by a checksum that both know,
/// else by its etag. Two copies of one part may have different etags; which of them stands depends on which came last.
bool HoldsSent(const UploadedPart& listed, const UploadedPart& sent);

/// Parts in order of their numbers, from 1.
class UploadParts {
 public:
  /// The number behind the last part's.
  int next() const { return static_cast<int>(entries_.size()) + 1; }
  /// A new part; those before it may come later. `pieces` as long as its bytes can be sent again; empty where they
  /// cannot.
  void Add(int number, int64_t bytes, Pieces pieces);
  /// The store has taken it. `recorded`: it said its checksum, which is that of what was sent, if anything was.
  void Set(UploadedPart part, bool recorded);

  int64_t total_bytes() const { return total_bytes_; }
  /// Nothing before Set().
  const std::optional<UploadedPart>& sent(int number) const { return At(number).part; }
  const Pieces& pieces(int number) const { return At(number).pieces; }

  /// To be named by the request that completes the upload, with the checksums that the store said too: one that knows
  /// none refuses them.
  std::vector<UploadedPart> Named() const;
  /// Whether the store said the checksum of each part.
  bool all_recorded() const;
  /// Of the whole, where those of the parts give it.
  std::optional<Checksum> Combined() const;
  /// Takes the etags of what stands there now. The numbers of the parts of which `listed` does not prove that they hold
  /// what was sent.
  std::vector<int> Reconcile(const std::map<int, UploadedPart>& listed);

 private:
  struct Entry {
    Pieces pieces;
    std::optional<UploadedPart> part;
    bool recorded = false;
  };
  const Entry& At(int number) const { return entries_[static_cast<size_t>(number - 1)]; }

  std::vector<Entry> entries_;
  int64_t total_bytes_ = 0;
};

}  // namespace assay::storage
