#include "storage/transfer/upload_parts.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string_view>

#include "storage/conformance.h"
#include "storage/transfer/whole_check.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Checksum Sum(ChecksumKind kind, std::string_view text) {
  return ChecksumOf(kind, AsBytes(text));
}

UploadedPart Sent(int number, std::string_view text) {
  return {number, static_cast<int64_t>(text.size()), "mine", Sum(ChecksumKind::kCrc64Nvme, text)};
}

UploadedPart Listed(std::string_view text, std::optional<ChecksumKind> kind) {
  UploadedPart part = {1, static_cast<int64_t>(text.size()), "another"};
  if (kind) {
    part.checksum = Sum(*kind, text);
  }
  return part;
}

TEST(UploadPartsTest, AChecksumThatBothKnowProvesAPart) {
  EXPECT_TRUE(HoldsSent(Listed("text", ChecksumKind::kCrc64Nvme), Sent(1, "text")));
  EXPECT_FALSE(HoldsSent(Listed("tent", ChecksumKind::kCrc64Nvme), Sent(1, "text")));
  EXPECT_FALSE(HoldsSent(Listed("longer", ChecksumKind::kCrc64Nvme), Sent(1, "text")));
  UploadedPart told = Sent(1, "text");
  told.digest = Sum(ChecksumKind::kMd5, "text");
  EXPECT_TRUE(HoldsSent(Listed("text", ChecksumKind::kMd5), told));
  EXPECT_FALSE(HoldsSent(Listed("tent", ChecksumKind::kMd5), told));
}

TEST(UploadPartsTest, WithoutOneOnlyItsEtagDoes) {
  UploadedPart listed = Listed("text", std::nullopt);
  EXPECT_FALSE(HoldsSent(listed, Sent(1, "text")));
  listed.etag = "mine";
  EXPECT_TRUE(HoldsSent(listed, Sent(1, "text")));
  listed.checksum = Sum(ChecksumKind::kCrc64Nvme, "tent");
  EXPECT_FALSE(HoldsSent(listed, Sent(1, "text")));
}

TEST(UploadPartsTest, ReconcilingNamesWhatStandsAndTellsWhatIsUnproven) {
  UploadParts parts;
  // Parts may come in any order.
  for (const auto& [number, text] : {std::pair(2, "two"), std::pair(3, "three"), std::pair(1, "one")}) {
    parts.Add(number, static_cast<int64_t>(std::string_view(text).size()), {});
    parts.Set(Sent(number, text), true);
  }
  EXPECT_EQ(parts.next(), 4);
  std::map<int, UploadedPart> listed = {{1, Listed("one", ChecksumKind::kCrc64Nvme)},
                                        {2, Listed("owt", ChecksumKind::kCrc64Nvme)}};
  EXPECT_THAT(parts.Reconcile(listed), ElementsAre(2, 3));
  EXPECT_EQ(parts.Named()[0].etag, "another");
  EXPECT_EQ(parts.Named()[1].etag, "mine");
  listed[2] = Sent(2, "two");
  listed[3] = Sent(3, "three");
  EXPECT_THAT(parts.Reconcile(listed), IsEmpty());
  EXPECT_EQ(parts.Combined(), Sum(ChecksumKind::kCrc64Nvme, "onetwothree"));
  EXPECT_EQ(parts.total_bytes(), 11);
}

TEST(WholeCheckTest, RangesThatCombineSparePasses) {
  const std::vector<PartChecksum> ranges = {{3, 3, Sum(ChecksumKind::kCrc32c, "def")},
                                            {0, 3, Sum(ChecksumKind::kCrc32c, "abc")}};
  EXPECT_EQ(WholeChecksum(ChecksumKind::kCrc32c, ranges, {}, 6), Sum(ChecksumKind::kCrc32c, "abcdef"));
  EXPECT_FALSE(WholeChecksum(ChecksumKind::kCrc32c, ranges, {}, 7).has_value());
}

TEST(WholeCheckTest, AnotherKindIsComputedOfThePiecesInTheirOrder) {
  std::string first = "abc";
  std::string second = "def";
  const ReadPiece pieces[] = {{3, std::as_writable_bytes(std::span(second))},
                              {0, std::as_writable_bytes(std::span(first))}};
  EXPECT_EQ(WholeChecksum(ChecksumKind::kSha256, {}, pieces, 6), Sum(ChecksumKind::kSha256, "abcdef"));
  EXPECT_FALSE(WholeChecksum(ChecksumKind::kSha256, {}, pieces, 7).has_value());
  EXPECT_FALSE(WholeChecksum(ChecksumKind::kSha256, {}, std::span(pieces, 1), 6).has_value());
}

}  // namespace
}  // namespace assay::storage
