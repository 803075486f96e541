// A flat buffer whose memory comes and goes while tensors into it stay.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/shard/memory_ledger.h"

namespace assay::engine {

/// Where a buffer's memory comes from: elements and dtype in, an uninitialised flat tensor out.
using AllocateFlat = std::function<at::Tensor(int64_t elements, at::ScalarType dtype)>;

/// Owns one storage. release() takes the memory out of it and allocate() puts new memory in, so that views, saved
/// tensors of autograd and leaves all follow; reading one in between is a defect of the caller (a null pointer). Not
/// safe to use from two threads. Counts its memory in `ledger`, which must outlive it.
class FlatBuffer {
 public:
  /// Takes its first memory at once.
  FlatBuffer(AllocateFlat allocate, int64_t elements, at::ScalarType dtype, MemoryKind kind, MemoryLedger& ledger);
  ~FlatBuffer();
  FlatBuffer(const FlatBuffer&) = delete;
  FlatBuffer& operator=(const FlatBuffer&) = delete;

  bool allocated() const { return allocated_; }
  void allocate();  ///< no effect when it has memory; the content is undefined
  void release();   ///< no effect when it has none

  /// The whole buffer. Every call of view() and flat() gives a tensor with a version counter of its own: what the
  /// engine writes is no in-place change to autograd.
  at::Tensor flat() const { return flat_; }
  at::Tensor view(int64_t offset, at::IntArrayRef shape) const;
  int64_t bytes() const { return bytes_; }

 private:
  AllocateFlat allocate_;
  at::Tensor flat_;
  int64_t bytes_;
  MemoryKind kind_;
  MemoryLedger& ledger_;
  bool allocated_ = true;
};

}  // namespace assay::engine
