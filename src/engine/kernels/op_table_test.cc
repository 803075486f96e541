// The table of operations: no row has a gap, and whatever our kernels do not know is the reference's.
#include "engine/kernels/op_table.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/low_rank.h"
#include "engine/kernels/products.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;
using testing::random;
using testing::relative_error;

/// A table of nothing but pointers, as such.
template <typename Table>
std::vector<const void*> columns(const Table& table) {
  static_assert(std::is_trivially_copyable_v<Table> && sizeof(Table) % sizeof(void*) == 0);
  std::vector<const void*> pointers(sizeof(Table) / sizeof(void*));
  std::memcpy(pointers.data(), &table, sizeof(Table));
  return pointers;
}

template <typename Table>
bool is_whole(const Table& table) {
  const std::vector<const void*> pointers = columns(table);
  return std::find(pointers.begin(), pointers.end(), nullptr) == pointers.end();
}

TEST(OpTable, NoRowHasAGap) {
  EXPECT_TRUE(is_whole(reference::kOperations));
  for_each_isa([] {
    EXPECT_TRUE(is_whole(operations(at::kCPU, at::kFloat)));
    for (const CpuDtype dtype : {CpuDtype::kFloat32, CpuDtype::kBfloat16, CpuDtype::kFloat16}) {
      EXPECT_TRUE(is_whole(cpu_kernels().of(dtype))) << cpu_kernels().isa;
    }
  });
  EXPECT_TRUE(is_whole(operations(at::kCUDA, at::kFloat)));
}

TEST(OpTable, WhatARowLacksIsTheReferences) {
  constexpr Operations kOneColumn{.name = reference::kOperations.name, .gelu_forward = cpu::gelu_forward};
  std::vector<const void*> expected = columns(reference::kOperations);
  const std::vector<const void*> got = columns(kOneColumn);
  std::replace(expected.begin(), expected.end(), reinterpret_cast<const void*>(&reference::gelu_forward),
               reinterpret_cast<const void*>(&cpu::gelu_forward));
  EXPECT_EQ(got, expected);
  EXPECT_TRUE(cpu::kOperations.rotate == reference::rotate);
}

TEST(OpTable, UnknownDtypesAndDevicesAreTheReferences) {
  for_each_isa([] {
    for (const auto dtype : {at::kDouble, at::kLong, at::kByte, at::kFloat8_e4m3fn}) {
      EXPECT_EQ(&operations(at::kCPU, dtype), &reference::kOperations) << at::toString(dtype);
      EXPECT_EQ(&operations(at::kCUDA, dtype), &reference::kOperations) << at::toString(dtype);
    }
    EXPECT_EQ(&operations(at::kXPU, at::kFloat), &reference::kOperations);
    EXPECT_STREQ(operations(at::kMeta, at::kFloat).name, "cpu") << "steps on shapes go the CPU's way";
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      EXPECT_NE(&operations(at::kCPU, dtype), &reference::kOperations) << at::toString(dtype);
    }
  });
}

/// What no test of an operation has: every primitive that is not element-wise, in float64.
TEST(OpTable, TheReferenceComputesInFloat64) {
  const at::Tensor x = random({70, 33});
  const at::Tensor y = random({70, 17}, 2);
  const at::Tensor a = random({4, 33}, 3);
  EXPECT_LT(relative_error(product_tn(y, x), at::mm(y.t(), x)), 1e-14);
  EXPECT_LT(relative_error(add_product_tn(at::ones({17, 33}, at::kDouble), y, x), at::mm(y.t(), x) + 1), 1e-14);
  EXPECT_LT(relative_error(column_sums(x, at::kDouble), x.sum(0)), 1e-14);
  EXPECT_LT(relative_error(project_down({x, {}}, a, 0.5), at::mm(x, a.t()) * 0.5), 1e-14);
}

}  // namespace
}  // namespace assay::engine
