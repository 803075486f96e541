#include "checkpoint/manifest/manifest.h"

#include <filesystem>
#include <span>

#include "base/files.h"
#include "checkpoint/manifest/checked_source.h"
#include "checkpoint/testing.h"
#include "storage/file/file_store.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;

uint32_t CrcOf(std::string_view text) {
  return storage::Crc32c(0, std::as_bytes(std::span(text)));
}

ManifestFile FileOf(const std::string& content) {
  ManifestFile file = {.name = "x", .bytes = static_cast<int64_t>(content.size()), .crc32c = CrcOf(content)};
  for (size_t at = 0; at < content.size(); at += kSegmentBytes) {
    file.segments.push_back(CrcOf(content.substr(at, kSegmentBytes)));
  }
  return file;
}

Manifest Example() {
  Manifest manifest = {.id = "7", .format = Format::kTorch, .step = 5, .time = 12.5, .pointer = "x"};
  manifest.metrics["loss"] = 0.25;
  manifest.files = {FileOf("content")};
  manifest.files[0].items = {{"a", 1, 2, 3}, {"b", 3, 4, 5}};
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const std::string text = WriteManifest(Example());
  const Manifest read = Must(ReadManifest(text, "m"));
  EXPECT_EQ(WriteManifest(read), text);
  EXPECT_EQ(read.step, 5);
  EXPECT_EQ(read.metrics.at("loss"), 0.25);
  EXPECT_EQ(read.files[0].items[1].name, "b");
}

TEST(Manifest, FilesAreFoundByTheirNamesInWhateverOrderTheyWereWritten) {
  Manifest manifest = Example();
  for (const char* name : {"__9_0", "y", "__10_0", "a"}) {
    manifest.files.push_back(manifest.files[0]);
    manifest.files.back().name = name;
  }
  const Manifest read = Must(ReadManifest(WriteManifest(manifest), "m"));
  for (const ManifestFile& file : manifest.files) {
    ASSERT_NE(read.Find(file.name), nullptr) << file.name;
    EXPECT_EQ(read.Find(file.name)->name, file.name);
  }
  for (const char* name : {"", "__", "__1", "b", "z"}) {
    EXPECT_EQ(read.Find(name), nullptr) << name;
  }
}

TEST(Manifest, EveryFlippedBitIsFound) {
  const std::string text = WriteManifest(Example());
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      EXPECT_FALSE(ReadManifest(flipped, "m").ok()) << at;
    }
  }
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ReadManifest(text.substr(0, size), "m").ok());
  }
}

TEST(Manifest, FitsItself) {
  const auto refused = [](const std::function<void(Manifest&)>& change) {
    Manifest manifest = Example();
    change(manifest);
    return ErrorOf(ReadManifest(WriteManifest(manifest), "m"));
  };
  EXPECT_THAT(refused([](Manifest& m) { m.pointer = "y"; }), HasSubstr("does not list 'y'"));
  EXPECT_THAT(refused([](Manifest& m) { m.files[0].name = m.pointer = "../x"; }), HasSubstr("'../x'"));
  EXPECT_THAT(refused([](Manifest& m) { m.files[0].bytes = kSegmentBytes + 1; }), HasSubstr("do not cover"));
  EXPECT_THAT(refused([](Manifest& m) { m.files[0].items[1].bytes = 5; }), HasSubstr("does not lie"));
  EXPECT_THAT(refused([](Manifest& m) { m.files[0].items[1].offset = 2; }), HasSubstr("does not lie"));
  EXPECT_THAT(refused([](Manifest& m) { m.files.push_back(m.files[0]); }), HasSubstr("twice"));
}

TEST(Manifest, NamesTellTheSave) {
  EXPECT_EQ(ManifestIdOf(ManifestName("", "12"), ""), "12");
  EXPECT_EQ(ManifestIdOf(ManifestName("x.pt", "12"), "x.pt"), "12");
  EXPECT_EQ(ManifestIdOf(ManifestName("x.pt", "12"), ""), std::nullopt);
  EXPECT_EQ(ManifestIdOf("manifest-.assay", ""), std::nullopt);
}

class CheckedSourceTest : public testing::TestWithParam<bool> {
 protected:
  /// Content that can be viewed, or only be read.
  std::shared_ptr<const DataSource> Source(const std::string& content) {
    if (!GetParam()) {
      return SourceOfText(content);
    }
    const storage::Bytes bytes = std::as_bytes(std::span(content));
    EXPECT_TRUE(store_->Write("x", std::span(&bytes, 1), {}).ok());
    return Must(OpenObject(store_, "x"));
  }
  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>("test");
};

TEST_P(CheckedSourceTest, ChecksWhatIsReadAndNoMore) {
  const std::string content = Counting(3 * kSegmentBytes + 99);
  auto file = std::make_shared<ManifestFile>(FileOf(content));
  file->items = {{"first", 0, 100, 0}, {"second", kSegmentBytes + 5, kSegmentBytes, 0}};
  std::string damaged = content;
  damaged[kSegmentBytes + 500] ^= 4;
  const auto source = Must(CheckSums(Source(damaged), file));
  for (const auto& [offset, bytes] :
       {std::pair(int64_t{0}, int64_t{10}), std::pair(2 * kSegmentBytes, kSegmentBytes),
        std::pair(2 * kSegmentBytes + 7, kSegmentBytes + 50), std::pair(int64_t{0}, kSegmentBytes)}) {
    EXPECT_EQ(Must(ReadText(*source, offset, bytes)),
              content.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes)));
  }
  for (const auto& [offset, bytes] : {std::pair(kSegmentBytes, int64_t{1}), std::pair(kSegmentBytes - 1, int64_t{2}),
                                      std::pair(int64_t{0}, 3 * kSegmentBytes)}) {
    EXPECT_THAT(ErrorOf(ReadText(*source, offset, bytes)), HasSubstr("(tensor 'second')"));
  }
}

/// `count` pieces of 10 bytes, one a kilobyte from `begin` on, the last one first.
std::vector<storage::ReadPiece> ScatteredPieces(int64_t begin, std::string& memory) {
  std::vector<storage::ReadPiece> pieces;
  for (int64_t i = static_cast<int64_t>(memory.size()) / 10 - 1; i >= 0; --i) {
    pieces.push_back({begin + 1000 * i, std::as_writable_bytes(std::span(memory)).subspan(10 * i, 10)});
  }
  return pieces;
}

TEST(CheckedSource, PiecesOfOneStretchFetchItOnce) {
  const std::string content = Counting(4 * kSegmentBytes);
  const auto file = std::make_shared<ManifestFile>(FileOf(content));
  const auto counted = std::make_shared<CountingSource>(content);
  const auto source = Must(CheckSums(counted, file));
  std::string memory(20000, '\0');
  const std::vector<storage::ReadPiece> pieces = ScatteredPieces(kSegmentBytes - 500000, memory);
  ASSERT_TRUE(source->Read(pieces).ok());
  EXPECT_EQ(counted->read(), 3 * kSegmentBytes);
  for (const storage::ReadPiece& piece : pieces) {
    ASSERT_EQ(std::memcmp(piece.memory.data(), content.data() + piece.offset, 10), 0);
  }
}

TEST(CheckedSource, PiecesFarApartTakeLittleMemoryBesideThem) {
  const std::string content = Counting(40 * kSegmentBytes);
  const auto counted = std::make_shared<CountingSource>(content);
  const auto source = Must(CheckSums(counted, std::make_shared<ManifestFile>(FileOf(content))));
  std::string memory(400, '\0');
  std::vector<storage::ReadPiece> pieces;
  for (int64_t i = 0; i < 40; ++i) {
    pieces.push_back({i * kSegmentBytes + 3, std::as_writable_bytes(std::span(memory)).subspan(10 * i, 10)});
  }
  pieces.push_back(pieces.back());  // twice the same
  ASSERT_TRUE(source->Read(pieces).ok());
  EXPECT_THAT(counted->most_at_once(), testing::Le(10 * kSegmentBytes));
  EXPECT_EQ(memory.substr(0, 10), content.substr(3, 10));
}

TEST(CheckedSource, DamageBesideAPieceIsFoundAndDamageElsewhereIsNot) {
  const std::string content = Counting(4 * kSegmentBytes);
  std::string damaged = content;
  damaged[kSegmentBytes + 7] ^= 1;
  const auto source =
      Must(CheckSums(std::make_shared<CountingSource>(damaged), std::make_shared<ManifestFile>(FileOf(content))));
  std::string memory(1000, '\0');
  EXPECT_THAT(ErrorOf(source->Read(ScatteredPieces(kSegmentBytes + 90, memory))), HasSubstr("1048576 to 2097152"));
  EXPECT_TRUE(source->Read(ScatteredPieces(2 * kSegmentBytes, memory)).ok());
}

TEST_P(CheckedSourceTest, AFileOfAnotherSizeIsNotOpened) {
  const auto file = std::make_shared<ManifestFile>(FileOf("content"));
  EXPECT_THAT(ErrorOf(CheckSums(Source("contents"), file)), HasSubstr("8 bytes and not 7"));
}

INSTANTIATE_TEST_SUITE_P(Sources, CheckedSourceTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Fetched" : "Viewed"; });

TEST(CheckedSource, OfAFileThatWasCutSinceItWasSummedNothingIsRead) {
  const TemporaryDirectory directory = std::move(TemporaryDirectory::Create("checked")).value();
  const auto store = std::make_shared<storage::FileStore>(storage::FileStoreOptions{.root = directory.path()});
  const std::string content = Counting(100'000);
  const storage::Bytes bytes = std::as_bytes(std::span(content));
  ASSERT_TRUE(store->Write("x", std::span(&bytes, 1), {}).ok());
  const auto source =
      Must(CheckSums(Must(OpenObject(store, "x")), std::make_shared<const ManifestFile>(FileOf(content))));
  EXPECT_EQ(Must(ReadText(*source, 0, 100)), content.substr(0, 100));
  std::filesystem::resize_file(directory.path() + "/x", 100);
  EXPECT_FALSE(ReadText(*source, 50'000, 100).ok());
}

}  // namespace
}  // namespace assay::checkpoint
