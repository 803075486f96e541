#include <span>

#include "checkpoint/file/file_digest.h"
#include "checkpoint/testing.h"
#include "checkpoint/zip/zip_format.h"
#include "checkpoint/zip/zip_layout.h"
#include "checkpoint/zip/zip_reader.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;

/// A source of a size without bytes.
class HollowSource final : public DataSource {
 public:
  explicit HollowSource(int64_t bytes) : bytes_(bytes) {}
  std::string uri() const override { return "hollow"; }
  int64_t bytes() const override { return bytes_; }
  Status Read(std::span<const storage::ReadPiece> pieces) const override { return Status::Internal("hollow"); }

 private:
  int64_t bytes_;
};

std::string Written(FileLayout layout) {
  std::vector<storage::Bytes> buffers;
  EXPECT_TRUE(DigestInPlace(layout, buffers).ok());
  std::string text;
  for (const storage::Bytes buffer : buffers) {
    text.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  }
  return text;
}

std::string SmallArchive() {
  ZipLayout zip("archive", 64);
  zip.AddText("data.pkl", "pickled");
  zip.AddData("data/0", "w", SourceOfText("0123456789"), 2, 5);
  zip.AddData("data/1", "empty", SourceOfText(""), 0, 0);
  return Written(zip.Finish());
}

TEST(Zip, IsReadAsItWasLaidOut) {
  const std::string bytes = SmallArchive();
  const ZipArchive archive = *ZipArchive::Open(SourceOfText(bytes));
  ASSERT_EQ(archive.records().size(), 3u);
  EXPECT_EQ(archive.archive_name(), "archive");
  EXPECT_EQ(Must(archive.Read(*archive.Find("data.pkl"), 100)), "pickled");
  const ZipRecord& data = *archive.Find("data/0");
  EXPECT_EQ(data.data_offset % 64, 0);
  EXPECT_EQ(bytes.substr(static_cast<size_t>(data.data_offset), 5), "23456");
  EXPECT_EQ(data.crc32, storage::Crc32(0, std::as_bytes(std::span("23456", 5))));
  EXPECT_EQ(archive.Find("data/1")->bytes, 0);
  EXPECT_EQ(archive.Find("data"), nullptr);
  EXPECT_THAT(ErrorOf(archive.Read(data, 4)), HasSubstr("more than the 4"));
}

TEST(Zip, EveryCutAndEveryFlippedBitOfTheDirectoryIsSurvived) {
  const std::string bytes = SmallArchive();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ZipArchive::Open(SourceOfText(bytes.substr(0, size))).ok()) << size;
  }
  for (size_t at = bytes.find("PK\x01\x02"); at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const auto archive = ZipArchive::Open(SourceOfText(flipped));
      for (const ZipRecord& record : archive.ok() ? archive->records() : std::vector<ZipRecord>()) {
        ASSERT_LE(record.data_offset + record.bytes, static_cast<int64_t>(flipped.size()));
      }
    }
  }
}

TEST(Zip, DamagedRecordsAreFoundByTheirChecksum) {
  std::string bytes = SmallArchive();
  bytes[bytes.find("pickled")] = 'P';
  const ZipArchive archive = *ZipArchive::Open(SourceOfText(bytes));
  EXPECT_THAT(ErrorOf(archive.Read(*archive.Find("data.pkl"), 100)), HasSubstr("'archive/data.pkl' is damaged"));
}

TEST(Zip, OverlappingRecordsAreRefused) {
  std::string bytes = SmallArchive();
  const size_t second = bytes.find("PK\x01\x02", bytes.find("PK\x01\x02") + 1);
  bytes.replace(second + 42, 4, std::string(4, '\0'));  // its header is where the first one's is
  EXPECT_FALSE(ZipArchive::Open(SourceOfText(bytes)).ok());
}

/// Offsets that torch 2.13 gave to storages of 3 GiB, 5 GiB, 10 bytes and none, saved as "big.pt" (with skip_data).
TEST(Zip, LargeRecordsLieWhereTorchPutsThem) {
  ZipLayout zip("big", 64);
  zip.AddText("data.pkl", std::string(373, 'x'));
  zip.AddText(".format_version", "1");
  zip.AddText(".storage_alignment", "64");
  zip.AddText("byteorder", "little");
  const std::vector<int64_t> sizes = {int64_t{3} << 30, int64_t{5} << 30, 10, 0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    zip.AddData("data/" + std::to_string(i), "", std::make_shared<HollowSource>(sizes[i]), 0, sizes[i]);
  }
  zip.AddText("version", "3\n");
  zip.AddText(".data/serialization_id", std::string(40, '0'));
  const FileLayout layout = zip.Finish();
  std::vector<int64_t> offsets;
  for (const FileItem& item : layout.items()) {
    offsets.push_back(item.offset);
  }
  EXPECT_THAT(offsets, testing::ElementsAre(896, 3221226496, 8589935744, 8589935872));
  EXPECT_EQ(layout.bytes(), 8589936897);
}

}  // namespace
}  // namespace assay::checkpoint
