#include "engine/checkpoint/snapshot.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <span>

#include "base/huge_pages.h"
#include "base/streaming_copy.h"

namespace assay::engine {
namespace {

/// As small as a thread is soon done with, as large as the memory is fast.
constexpr size_t kPieceBytes = size_t{4} << 20;

/// `visit(place, tensor)`, each in its place.
template <typename Held, typename Visitor>
void visit_tensors(Held& held, const Visitor& visit) {
  size_t place = 0;
  for (auto& state : held) {
    visit(place++, state.weight);
    for (auto& moment : state.moments) {
      visit(place++, moment.values);
    }
  }
}

}  // namespace

std::vector<int64_t> snapshot_bytes(const std::vector<HeldState>& held, int64_t ranks) {
  std::vector<int64_t> planned(static_cast<size_t>(ranks), 0);
  std::vector<int64_t> copied(static_cast<size_t>(ranks), 0);
  const auto plan = [&](const HeldState& state, const at::Tensor& tensor) {
    std::set<size_t> writers;  // of its boxes, for which each copies all of it
    for (const checkpoint::Box& box : state.boxes()) {
      const auto writer = static_cast<size_t>(std::ranges::min_element(planned) - planned.begin());
      planned[writer] += checkpoint::Count(box.sizes) * static_cast<int64_t>(tensor.element_size());
      writers.insert(writer);
    }
    for (const size_t writer : writers) {
      copied[writer] += static_cast<int64_t>(tensor.nbytes());
    }
  };
  for (const HeldState& state : held) {
    if (!state.is_written_here) {
      continue;
    }
    plan(state, state.weight);
    for (const Moment& moment : state.moments) {
      plan(state, moment.values);
    }
  }
  return copied;
}

at::Tensor& Snapshot::memory_of(size_t place, const at::Tensor& tensor) {
  memory_.resize(std::max(memory_.size(), place + 1));
  at::Tensor& memory = memory_[place];
  if (!memory.defined() || memory.numel() != tensor.numel() || memory.scalar_type() != tensor.scalar_type()) {
    memory =
        at::empty({tensor.numel()}, at::TensorOptions().dtype(tensor.scalar_type()).pinned_memory(tensor.is_cuda()));
  }
  return memory;
}

void Snapshot::take_memory(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted) {
  std::vector<std::span<std::byte>> pieces;
  visit_tensors(held, [&](size_t place, const at::Tensor& tensor) {
    if (!wanted.contains(&tensor)) {
      return;
    }
    const at::Tensor& memory = memory_of(place, tensor);
    const std::span bytes(static_cast<std::byte*>(memory.mutable_data_ptr()), memory.nbytes());
    for (size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
      pieces.push_back(bytes.subspan(begin, std::min(kPieceBytes, bytes.size() - begin)));
    }
  });
  at::parallel_for(0, std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      TakePages(pieces[static_cast<size_t>(i)].data(), pieces[static_cast<size_t>(i)].size());
    }
  });
}

at::Tensor Snapshot::copy_of(size_t place, const at::Tensor& tensor) {
  const at::Tensor& memory = memory_of(place, tensor);
  if (tensor.is_cpu() && tensor.is_contiguous()) {
    add_pieces(tensor, memory);
  } else if (tensor.is_cuda()) {
    copy_from_device(tensor, memory);
  } else {
    memory.copy_(tensor);
  }
  return memory;
}

void Snapshot::copy_from_device(const at::Tensor& from, const at::Tensor& to) {
  const c10::impl::VirtualGuardImpl device(from.device().type());
  const c10::Stream computing = device.getStream(from.device());
  if (!beside_) {
    beside_ = device.getStreamFromGlobalPool(from.device());
  }
  // What is queued makes the values; what is queued from here on does not wait for their copies.
  c10::Event made(from.device().type());
  made.record(computing);
  made.block(*beside_);
  const c10::StreamGuard guard(*beside_);
  to.copy_(from.contiguous().view({-1}), /*non_blocking=*/true);
  sources_.push_back(from);
}

void Snapshot::add_pieces(const at::Tensor& from, const at::Tensor& to) {
  const auto* source = static_cast<const std::byte*>(from.const_data_ptr());
  auto* target = static_cast<std::byte*>(to.mutable_data_ptr());
  for (size_t begin = 0; begin < from.nbytes(); begin += kPieceBytes) {
    pieces_.push_back({from, source + begin, target + begin, std::min(kPieceBytes, from.nbytes() - begin)});
  }
}

std::vector<HeldState> Snapshot::begin(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted) {
  const at::NoGradGuard no_grad;
  complete();
  steps_.assign(held.size(), 0);
  pieces_.clear();
  next_piece_ = 0;
  std::vector<HeldState> copies = held;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].steps != nullptr) {
      steps_[i] = *held[i].steps;
      copies[i].steps = &steps_[i];
    }
  }
  std::vector<at::Tensor*> targets;
  visit_tensors(copies, [&](size_t, at::Tensor& target) { targets.push_back(&target); });
  visit_tensors(held, [&](size_t place, const at::Tensor& tensor) {
    if (wanted.contains(&tensor)) {
      *targets[place] = copy_of(place, tensor);
    }
  });
  if (!pieces_.empty() || beside_) {
    copier_ = std::async(std::launch::async, [this] {
      copy_pieces();
      if (beside_) {
        beside_->synchronize();
      }
    });
  }
  return copies;
}

/// Pieces that no other thread has begun to copy.
void Snapshot::copy_pieces() {
  for (size_t i = next_piece_++; i < pieces_.size(); i = next_piece_++) {
    Piece& piece = pieces_[i];
    StreamingCopy({piece.from, piece.bytes}, piece.to);
    piece.source.reset();
  }
}

void Snapshot::complete() {
  if (is_complete()) {
    return;
  }
  at::parallel_for(0, at::get_num_threads(), 1, [this](int64_t, int64_t) { copy_pieces(); });
  copier_.get();
  sources_.clear();
}

}  // namespace assay::engine
