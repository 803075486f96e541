#include "storage/bench/bench_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <span>
#include <string>

#include "base/files.h"

namespace assay::storage {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

TEST(AnonymousMemoryWatch, CountsWhatNoFileBacks) {
  const auto folder = TemporaryDirectory::Create("bench_memory");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/bytes";
  ASSERT_TRUE(WriteFileAtomically(path, std::string(kBytes, 'x')).ok());

  const AnonymousMemoryWatch of_mapping;
  const auto mapped = assay::MappedFile::Open(path);
  ASSERT_TRUE(mapped.ok());
  const std::span bytes = (*mapped)->bytes();
  EXPECT_NE(std::accumulate(bytes.begin(), bytes.end(), size_t{0},
                            [](size_t sum, std::byte byte) { return sum + static_cast<size_t>(byte); }),
            0U);
  EXPECT_LT(of_mapping.PeakBeyondBytes(), static_cast<int64_t>(kBytes / 4));

  const AnonymousMemoryWatch of_memory;
  const std::string taken(kBytes, 'y');
  EXPECT_GE(of_memory.PeakBeyondBytes(), static_cast<int64_t>(kBytes * 9 / 10));
  EXPECT_EQ(taken.back(), 'y');
}

}  // namespace
}  // namespace assay::storage
