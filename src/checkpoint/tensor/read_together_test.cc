#include "checkpoint/tensor/read_together.h"

#include "checkpoint/manifest/manifest.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;
using testing::Le;

struct Wanted {
  std::shared_ptr<const Tensor> tensor;
  std::string content;
  std::string memory = std::string(content.size(), '\0');
};

Wanted PartOf(const std::shared_ptr<const DataSource>& source, const std::string& content, int64_t begin,
              int64_t bytes) {
  return {std::make_shared<const Tensor>(ContiguousTensor(DType::kUInt8, {bytes}, source, begin)),
          content.substr(static_cast<size_t>(begin), static_cast<size_t>(bytes))};
}

std::vector<TensorRead> ReadsOf(std::vector<Wanted>& wanted) {
  std::vector<TensorRead> reads;
  for (Wanted& one : wanted) {
    reads.push_back({one.tensor, std::as_writable_bytes(std::span(one.memory))});
  }
  return reads;
}

TEST(ReadTogether, FetchesNeighboursOnce) {
  const std::string content = Counting(3 * kSegmentBytes);
  const auto source = std::make_shared<CountingSource>(content);
  std::vector<Wanted> wanted;
  for (int64_t i = 999; i >= 0; --i) {
    wanted.push_back(PartOf(source, content, i * 3000, 2900));
  }
  ASSERT_TRUE(ReadTogether(ReadsOf(wanted), 4).ok());
  for (const Wanted& one : wanted) {
    ASSERT_EQ(one.memory, one.content);
  }
  EXPECT_THAT(source->read(), Le(3 * kSegmentBytes));
}

TEST(ReadTogether, LeavesGapsAndReadsLargeOnesWhereTheyWillLie) {
  const std::string content = Counting(24 * kSegmentBytes);
  const auto source = std::make_shared<CountingSource>(content);
  std::vector<Wanted> wanted;
  wanted.push_back(PartOf(source, content, 5, 100));
  wanted.push_back(PartOf(source, content, 2 * kSegmentBytes + 17, 5 * kSegmentBytes));
  wanted.push_back(PartOf(source, content, 23 * kSegmentBytes + 9, 100));
  ASSERT_TRUE(ReadTogether(ReadsOf(wanted), 2).ok());
  for (const Wanted& one : wanted) {
    ASSERT_EQ(one.memory, one.content);
  }
  EXPECT_THAT(source->read(), Le(5 * kSegmentBytes + 300));
}

TEST(ReadTogether, SaysWhatIsTruncated) {
  const auto source = SourceOfText("abc", "short");
  std::string memory(5, '\0');
  const auto tensor = std::make_shared<const Tensor>(ContiguousTensor(DType::kUInt8, {5}, source));
  EXPECT_THAT(ErrorOf(ReadTogether({{tensor, std::as_writable_bytes(std::span(memory))}}, 1)),
              HasSubstr("short ends at byte 3"));
}

}  // namespace
}  // namespace assay::checkpoint
