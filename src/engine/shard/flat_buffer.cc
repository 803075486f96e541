#include "engine/shard/flat_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

namespace assay::engine {

FlatBuffer::FlatBuffer(AllocateFlat allocate, int64_t elements, at::ScalarType dtype, MemoryKind kind,
                       MemoryLedger& ledger)
    : allocate_(std::move(allocate)),
      flat_(allocate_(elements, dtype)),
      bytes_(static_cast<int64_t>(flat_.nbytes())),
      kind_(kind),
      ledger_(ledger) {
  TORCH_INTERNAL_ASSERT(flat_.storage_offset() == 0, "a flat buffer must own its storage");
  ledger_.add(kind_, bytes_);
}

FlatBuffer::~FlatBuffer() {
  if (allocated_) {
    ledger_.add(kind_, -bytes_);
  }
}

void FlatBuffer::allocate() {
  if (allocated_) {
    return;
  }
  const at::Tensor fresh = allocate_(flat_.numel(), flat_.scalar_type());
  c10::StorageImpl* source = fresh.storage().unsafeGetStorageImpl();
  c10::StorageImpl* target = flat_.storage().unsafeGetStorageImpl();
  const size_t bytes = source->nbytes();
  target->set_data_ptr_noswap(source->set_data_ptr(at::DataPtr(nullptr, flat_.device())));
  target->set_nbytes(bytes);
  source->set_nbytes(0);
  allocated_ = true;
  ledger_.add(kind_, bytes_);
}

void FlatBuffer::release() {
  if (!allocated_) {
    return;
  }
  c10::StorageImpl* storage = flat_.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, flat_.device()));
  storage->set_nbytes(0);
  allocated_ = false;
  ledger_.add(kind_, -bytes_);
}

at::Tensor FlatBuffer::view(int64_t offset, at::IntArrayRef shape) const {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  }
  const at::NoGradGuard no_grad;
  return at::empty({0}, flat_.options()).set_(flat_.storage(), flat_.storage_offset() + offset, shape, strides);
}

}  // namespace assay::engine
