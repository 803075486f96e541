#include "storage/transfer/checksum_parts.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::storage {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

PartChecksum Part(ChecksumKind kind, std::string_view text, int64_t offset, int64_t bytes) {
  const std::string_view part = text.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes));
  return {offset, bytes, ChecksumOf(kind, BytesOf(part))};
}

TEST(ChecksumPartsTest, PartsInAnyOrderMakeTheWhole) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  const auto size = static_cast<int64_t>(text.size());
  for (const ChecksumKind kind : {ChecksumKind::kCrc32c, ChecksumKind::kCrc32, ChecksumKind::kCrc64Nvme}) {
    const auto whole =
        CombineParts({Part(kind, text, 20, size - 20), Part(kind, text, 0, 3), Part(kind, text, 3, 17)}, size);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(*whole, ChecksumOf(kind, BytesOf(text)));
  }
}

TEST(ChecksumPartsTest, GapsAndOverlapsGiveNothing) {
  const std::string text = "0123456789";
  const auto kind = ChecksumKind::kCrc32c;
  EXPECT_FALSE(CombineParts({Part(kind, text, 0, 3), Part(kind, text, 4, 6)}, 10).has_value());
  EXPECT_FALSE(CombineParts({Part(kind, text, 0, 5), Part(kind, text, 4, 6)}, 10).has_value());
  EXPECT_FALSE(CombineParts({Part(kind, text, 0, 9)}, 10).has_value());
}

TEST(ChecksumPartsTest, DigestsThatCannotBeCombinedStandAlone) {
  const std::string text = "0123456789";
  const auto kind = ChecksumKind::kMd5;
  EXPECT_TRUE(CombineParts({Part(kind, text, 0, 10)}, 10).has_value());
  EXPECT_FALSE(CombineParts({Part(kind, text, 0, 5), Part(kind, text, 5, 5)}, 10).has_value());
}

}  // namespace
}  // namespace assay::storage
