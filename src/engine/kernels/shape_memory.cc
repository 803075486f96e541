#include "engine/kernels/shape_memory.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace assay::engine {
namespace {

/// Where the data of a counted tensor is said to be: libtorch has no pointers into a tensor without data. Nobody writes
/// there, and all that is read are the sums of gradients, two numbers.
alignas(64) constexpr std::byte kNoData[64] = {};

/// Hands out nothing, and counts it. A block that is counted has its size as context.
class ShapeAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device meta(c10::kMeta);
    if (!active_ || bytes == 0) {
      return {nullptr, nullptr, &ShapeAllocator::forget, meta};
    }
    if (!counts_) {
      return {const_cast<std::byte*>(kNoData), nullptr, &ShapeAllocator::forget, meta};
    }
    live_ += static_cast<int64_t>(bytes);
    if (raises_peak_) {
      peak_ = std::max(peak_.load(), live_.load());
    }
    return {const_cast<std::byte*>(kNoData), new size_t(bytes), &ShapeAllocator::give_back, meta};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &ShapeAllocator::forget; }
  void copy_data(void*, const void*, size_t) const override {}

  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }
  void reset_peak() { set_peak(live_); }
  void set_peak(int64_t bytes) { peak_ = bytes; }
  void activate(bool on) { active_ = on; }
  void count(bool on) { counts_ = on; }
  bool raise_peak(bool on) { return raises_peak_.exchange(on); }

 private:
  static void forget(void*) {}
  static void give_back(void* context);

  std::atomic<int64_t> live_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<bool> active_{false};
  std::atomic<bool> counts_{true};
  std::atomic<bool> raises_peak_{true};
};

/// The one instance, never destroyed: tensors may outlive everything else.
ShapeAllocator& allocator() {
  static auto* instance = [] {
    constexpr uint8_t kHighestPriority = 255;
    auto* made = new ShapeAllocator;
    c10::SetAllocator(c10::kMeta, made, kHighestPriority);
    return made;
  }();
  return *instance;
}

void ShapeAllocator::give_back(void* context) {
  const std::unique_ptr<size_t> bytes(static_cast<size_t*>(context));
  allocator().live_ -= static_cast<int64_t>(*bytes);
}

/// Autograd adds up the gradients of a tensor in place, but not of one without storage: there the sum is a tensor of
/// its own until the first of the two goes. It takes that one's place in the count.
at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& /*alpha*/) {
  const bool raises = allocator().raise_peak(false);
  at::Tensor sum = at::empty(at::infer_size(self.sizes(), other.sizes()),
                             self.options().dtype(at::result_type(self, other)).device(at::kMeta));
  allocator().raise_peak(raises);
  return sum;
}

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes[static_cast<size_t>(dim)] = index.numel();
  return at::empty(sizes, self.options());
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  return at::empty(at::infer_size(condition.sizes(), at::infer_size(self.sizes(), other.sizes())),
                   self.options().dtype(at::result_type(self, other)).device(at::kMeta));
}

/// That add() replaces another is what is meant.
struct NoWarnings : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

struct ShapeMemory::Operations {
  Operations() : library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__) {
    NoWarnings none;
    const c10::WarningUtils::WarningHandlerGuard guard(&none);
    library.impl("add.Tensor", &add);
    library.impl("index_select", &index_select);
    library.impl("where.self", &where);
  }
  torch::Library library;
};

ShapeMemory::ShapeMemory() : operations_(std::make_unique<Operations>()) {
  allocator().activate(true);
  allocator().reset_peak();
}

ShapeMemory::~ShapeMemory() {
  allocator().activate(false);
}

int64_t ShapeMemory::live_bytes() const {
  return allocator().live();
}

int64_t ShapeMemory::peak_bytes() const {
  return allocator().peak();
}

void ShapeMemory::reset_peak() {
  allocator().reset_peak();
}

ScratchShapes::ScratchShapes() : peak_before_(allocator().peak()) {
  allocator().reset_peak();
}

ScratchShapes::~ScratchShapes() {
  allocator().set_peak(std::max(peak_before_, allocator().live()));
}

int64_t ScratchShapes::bytes() const {
  return allocator().peak() - allocator().live();
}

UncountedShapes::UncountedShapes() {
  allocator().count(false);
}

UncountedShapes::~UncountedShapes() {
  allocator().count(true);
}

}  // namespace assay::engine
