// A copy of what a rank holds, for a save that goes on beside the training.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <vector>

#include "engine/checkpoint/held_state.h"

namespace assay::engine {

/// What each of `ranks` copies that all hold `held`, with moments, and share the writing of it as a save plans it
/// (checkpoint/dcp/save_plan.h).
std::vector<int64_t> snapshot_bytes(const std::vector<HeldState>& held, int64_t ranks);

/// Copied by a thread of its own while the training makes the next step's gradients, which change nothing of what is
/// held, and at the latest before its update; out of a GPU by a stream of its own, into pinned memory. Its memory is
/// kept from one save to the next, and may be taken before the first: fresh memory takes longer to come by than to
/// fill. To be used from one thread.
class Snapshot {
 public:
  /// Takes the memory for copies of the `wanted` of `held`, with all threads that compute. No copies may be under way.
  void take_memory(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted);
  /// `held` with copies on the CPU of all counts, and of the tensors whose addresses are among `wanted`; the others are
  /// as they were. What is copied must not change, and copies have no values, until complete() returned. Copies are
  /// good until the next begin().
  std::vector<HeldState> begin(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted);
  bool is_complete() const { return !copier_.valid(); }
  /// Copies what is left, with all threads that compute. No effect where nothing is.
  void complete();

 private:
  /// Bytes that one thread copies.
  struct Piece {
    at::Tensor source;  ///< keeps them until they are copied
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    size_t bytes = 0;
  };

  /// Of the copy of `tensor`, which is the one of `held` at that place; another one's is dropped for it.
  at::Tensor& memory_of(size_t place, const at::Tensor& tensor);
  at::Tensor copy_of(size_t place, const at::Tensor& tensor);
  void copy_from_device(const at::Tensor& from, const at::Tensor& to);
  void add_pieces(const at::Tensor& from, const at::Tensor& to);
  void copy_pieces();

  std::vector<at::Tensor> memory_;
  std::vector<int64_t> steps_;
  std::optional<c10::Stream> beside_;  ///< of a device that is copied from
  std::vector<at::Tensor> sources_;    ///< on it: their memory is nobody else's until they are copied
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_piece_ = 0;
  std::future<void> copier_;  ///< valid: not all may be copied; goes first, since it uses the others
};

}  // namespace assay::engine
