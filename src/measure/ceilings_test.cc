#include "measure/ceilings.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace assay::measure {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kArrayBytes = int64_t{4} << 20;  // too small to be a ceiling, but quick

TEST(CeilingsTest, MemoryBandwidthIsPlausible) {
  const auto speed = MeasureMemoryBandwidth(0.05, 1, kArrayBytes);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  for (const double rate : {speed->read_gb_per_s, speed->copy_gb_per_s, speed->triad_gb_per_s}) {
    EXPECT_GT(rate, 0.0);
    EXPECT_LT(rate, 10000);
  }
  EXPECT_EQ(speed->threads, 1);
  EXPECT_GE(speed->repetitions, 1);
  EXPECT_EQ(speed->array_bytes, kArrayBytes);
  EXPECT_THAT(speed->method, HasSubstr("1 thread"));
}

TEST(CeilingsTest, MemoryBandwidthTakesSeveralThreads) {
  const auto speed = MeasureMemoryBandwidth(0.05, 3, kArrayBytes);
  ASSERT_TRUE(speed.ok());
  EXPECT_EQ(speed->threads, 3);
  EXPECT_GT(speed->triad_gb_per_s, 0.0);
}

TEST(CeilingsTest, DiskLeavesNothingBehind) {
  auto folder = TemporaryDirectory::Create("assay-ceilings-test");
  ASSERT_TRUE(folder.ok());
  const auto speed = MeasureDisk(folder->path(), 0.1);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  EXPECT_GT(speed->write_mib_per_s, 0);
  EXPECT_GT(speed->read_mib_per_s, 0);
  EXPECT_GE(speed->file_bytes, 16 << 20);
  EXPECT_EQ(speed->folder, folder->path());
  EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
}

TEST(CeilingsTest, DiskErrorsNameTheFolder) {
  const auto speed = MeasureDisk("/proc/nowhere", 0.1);
  ASSERT_FALSE(speed.ok());
  EXPECT_THAT(speed.status().message(), HasSubstr("/proc/nowhere"));
}

TEST(CeilingsTest, LoopbackIsPlausible) {
  const auto speed = MeasureLoopback(0.1);
  ASSERT_TRUE(speed.ok()) << speed.status().message();
  EXPECT_GT(speed->throughput_gb_per_s, 0);
  EXPECT_GT(speed->round_trip_us, 0.1);
  EXPECT_LT(speed->round_trip_us, 1e8);
  EXPECT_GT(speed->round_trips, 0);
  EXPECT_GT(speed->bytes, 0);
}

}  // namespace
}  // namespace assay::measure
