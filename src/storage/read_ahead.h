// Reads for a loader: what will be wanted is read ahead of who consumes it, within a window of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "storage/object_store.h"
#include "storage/transfers.h"

namespace assay::storage {

/// Bytes of an object that will be wanted: `bytes` of them from `offset` on, or all, of an object of that size.
struct WantedRange {
  std::string key{};
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string if_match{};  ///< as of ReadOptions
  int takers = 1;          ///< how often it will be taken
  int priority = 0;        ///< ranges with a higher one are read first, those of the same in the order they were added
};

struct ReadAheadOptions {
  int64_t window_bytes = int64_t{256} << 20;  ///< of all that is being read, lies ready, or has been taken
  int reads_at_a_time = 64;
  bool verify = true;  ///< as of ReadOptions
};

/// Ranges of one store's objects, read by `transfers` while the program computes. Any number of threads may add, take
/// and drop. Memory is counted to the byte, from a read's start until the last Block of it is gone, and is never more
/// than the window. Ranges are read in their order as there is room; but one that somebody waits for is read before all
/// others, and what lies ready and nobody waits for, the last first, is given up for it, to be read again. A thread
/// that waits while it holds Blocks may wait for itself: what is held while waiting, by all threads together, must
/// leave room for the largest range.
class ReadAhead {
  struct State;
  struct Lease;
  struct Loan;

 public:
  using Id = uint64_t;

  /// Bytes that were read. Cheap to copy; the last copy gives the memory back. May outlive the ReadAhead.
  class Block {
   public:
    Block() = default;
    Bytes bytes() const;

   private:
    friend class ReadAhead;
    explicit Block(std::shared_ptr<const Loan> loan) : loan_(std::move(loan)) {}
    std::shared_ptr<const Loan> loan_;
  };

  /// `transfers` and `store` must outlive it.
  ReadAhead(Transfers& transfers, ObjectStore& store, ReadAheadOptions options = {});
  /// Cancels what is being read, and waits for that. Nobody may be waiting in Take().
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Never waits. A range larger than the window, or of no taker, is InvalidArgument when it is taken.
  Id Add(WantedRange range);
  /// Waits until it is there, or until `cancel` is set (Aborted). The error of a read is that of each of its takers.
  /// NotFound for a range that was dropped, or taken as often as it was to be.
  Result<Block> Take(Id id, CancelFlag cancel = nullptr);
  /// One of its takers does not want it any more; after the last, its read is cancelled and its memory given back.
  void Drop(Id id);
  /// Nobody wants anything that was added so far.
  void DropAll();

  int64_t taken_bytes() const;
  int64_t peak_bytes() const;

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace assay::storage
