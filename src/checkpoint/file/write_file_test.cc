#include "checkpoint/file/write_file.h"

#include <span>

#include "checkpoint/testing.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;

uint32_t CrcOf(std::string_view text) {
  return storage::Crc32c(0, std::as_bytes(std::span(text)));
}

/// Bytes that can only be fetched.
class FetchedSource final : public DataSource {
 public:
  explicit FetchedSource(std::string bytes, Status unchanged = Status::Ok())
      : bytes_(std::move(bytes)), unchanged_(std::move(unchanged)) {}
  std::string uri() const override { return "fetched"; }
  int64_t bytes() const override { return static_cast<int64_t>(bytes_.size()); }
  Status Read(std::span<const storage::ReadPiece> pieces) const override {
    for (const storage::ReadPiece& piece : pieces) {
      std::memcpy(piece.memory.data(), bytes_.data() + piece.offset, piece.memory.size());
    }
    return Status::Ok();
  }
  Status CheckUnchanged() const override { return unchanged_; }

 private:
  std::string bytes_;
  Status unchanged_;
};

class WriteFileTest : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<const DataSource> Source(std::string bytes) const {
    return GetParam() ? std::make_shared<FetchedSource>(std::move(bytes)) : SourceOfText(std::move(bytes));
  }
  storage::MemoryStore store_{"test"};
};

TEST_P(WriteFileTest, SumsStretchesItemsAndAll) {
  const std::string large = Counting(3 * kSegmentBytes + 12345);
  FileLayout layout;
  layout.AddText("head");
  layout.AddData("large", Source(large), 10, kSegmentBytes * 2);
  layout.AddText("between");
  layout.AddData("small", Source("0123456789"), 3, 4);
  layout.AddData("empty", Source(""), 0, 0);
  const std::string expected = "head" + large.substr(10, kSegmentBytes * 2) + "between3456";
  WriteFileOptions options;
  options.buffer_bytes = kSegmentBytes * 2;
  const WrittenFile written = Must(WriteFile(store_, "x", layout, options));
  EXPECT_EQ(ContentOf(store_)["x"], expected);
  EXPECT_EQ(written.digest.bytes, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(written.digest.crc32c, CrcOf(expected));
  ASSERT_EQ(written.digest.segments.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(written.digest.segments[i], CrcOf(expected.substr(i * kSegmentBytes, kSegmentBytes)));
  }
  ASSERT_EQ(written.digest.items.size(), 3u);
  EXPECT_EQ(written.digest.items[0], CrcOf(large.substr(10, kSegmentBytes * 2)));
  EXPECT_EQ(written.digest.items[1], CrcOf("3456"));
  EXPECT_EQ(written.digest.items[2], 0u);
}

TEST_P(WriteFileTest, FillsInChecksumsOfWhatStandsBefore) {
  FileLayout layout;
  const std::string large = Counting(2 * kSegmentBytes);
  layout.AddData("a", Source(large), 0, 2 * kSegmentBytes);
  layout.AddText("crc:....");
  layout.AddCrc32Place({1, 4, 0});
  layout.AddData("b", Source("bytes"), 0, 5);
  layout.AddText("both:........");
  layout.AddCrc32Place({3, 5, 0});
  layout.AddCrc32Place({3, 9, 2});
  WriteFileOptions options;
  options.buffer_bytes = kSegmentBytes;
  ASSERT_TRUE(WriteFile(store_, "x", layout, options).ok());
  std::string of_a;
  std::string of_b;
  PutLittleEndian(of_a, storage::Crc32(0, std::as_bytes(std::span(large))), 4);
  PutLittleEndian(of_b, storage::Crc32(0, std::as_bytes(std::span("bytes", 5))), 4);
  EXPECT_EQ(ContentOf(store_)["x"].substr(2 * kSegmentBytes), "crc:" + of_a + "bytesboth:" + of_a + of_b);
}

TEST_P(WriteFileTest, NothingStandsThatWasGivenUp) {
  FileLayout layout;
  layout.AddData("a", Source("content"), 0, 7);
  WriteFileOptions options;
  options.before_publish = [this](const FileDigest& digest) {
    EXPECT_EQ(digest.crc32c, CrcOf("content"));
    EXPECT_TRUE(ContentOf(store_).empty());
    return Status::Io("no");
  };
  EXPECT_THAT(ErrorOf(WriteFile(store_, "x", layout, options)), HasSubstr("no"));
  EXPECT_TRUE(ContentOf(store_).empty());
}

INSTANTIATE_TEST_SUITE_P(Sources, WriteFileTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Fetched" : "InPlace"; });

TEST(WriteFile, SourcesThatChangedMeanwhileAreAnError) {
  storage::MemoryStore store("test");
  FileLayout layout;
  layout.AddData("a", std::make_shared<FetchedSource>("content", Status::FailedPrecondition("changed")), 0, 7);
  EXPECT_THAT(ErrorOf(WriteFile(store, "x", layout, {})), HasSubstr("changed"));
  EXPECT_TRUE(ContentOf(store).empty());
}

TEST(WriteFile, MemoryThatChangesDuringASaveIsAnError) {
  storage::MemoryStore store("test");
  std::string memory = Counting(1000);
  FileLayout layout;
  layout.AddData("a", std::make_shared<MemorySource>(std::as_bytes(std::span(memory))), 0, 1000);
  WriteFileOptions options;
  options.before_publish = [&memory](const FileDigest&) {
    memory[500] = '!';  // a training that goes on
    return Status::Ok();
  };
  EXPECT_FALSE(WriteFile(store, "x", layout, options).ok());
  EXPECT_TRUE(ContentOf(store).empty());
}

TEST(FileLayout, AppendsAnotherOne) {
  FileLayout first;
  first.AddText("abc");
  FileLayout second;
  second.AddData("x", SourceOfText("12"), 0, 2);
  second.AddText("....");
  second.AddCrc32Place({1, 0, 0});
  first.Append(std::move(second));
  EXPECT_EQ(first.bytes(), 9);
  EXPECT_EQ(first.items().front().offset, 3);
  EXPECT_EQ(first.crc32_places().front().text_segment, 2u);
  EXPECT_EQ(first.crc32_places().front().of_segment, 1u);
}

}  // namespace
}  // namespace assay::checkpoint
