#include "storage/memory/memory_store.h"

#include "storage/conformance.h"

namespace assay::storage {
namespace {

class MemoryUnderTest final : public StoreUnderTest {
 public:
  ObjectStore& store() override { return store_; }

 private:
  MemoryStore store_{"test"};
};

INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreConformance,
                         testing::Values(ConformanceTarget{.name = "memory",
                                                           .make = [] { return std::make_unique<MemoryUnderTest>(); }}),
                         TargetName);

TEST(MemoryStore, RecordsTheChecksumOfItsContent) {
  MemoryStore store("test");
  const Bytes content = AsBytes("123456789");
  const auto info = store.Write("digits", std::span(&content, 1), {});
  ASSERT_TRUE(info.ok());
  ASSERT_TRUE(info->checksum.has_value());
  // The check value of CRC-32C (Castagnoli).
  EXPECT_EQ(info->checksum->Hex(), "e3069283");
  EXPECT_EQ(store.Uri("digits"), "mem://test/digits");
}

}  // namespace
}  // namespace assay::storage
