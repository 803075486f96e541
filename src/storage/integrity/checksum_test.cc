#include "storage/integrity/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::storage {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Expected {
  ChecksumKind kind;
  std::string hex;
};

// "123456789"; the digests are those of md5sum, sha1sum and sha256sum, the CRCs those of the catalogue of CRCs.
const Expected kDigits[] = {
    {ChecksumKind::kCrc32c, "e3069283"},
    {ChecksumKind::kCrc64Nvme, "ae8b14860a799888"},
    {ChecksumKind::kMd5, "25f9e794323b453885f5181f1b624d0b"},
    {ChecksumKind::kCrc32, "cbf43926"},
    {ChecksumKind::kSha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"},
    {ChecksumKind::kSha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
};

TEST(Checksum, KnownDigests) {
  for (const Expected& expected : kDigits) {
    const Checksum checksum = ChecksumOf(expected.kind, Bytes("123456789"));
    EXPECT_EQ(checksum.Hex(), expected.hex);
    EXPECT_EQ(checksum.value.size(), DigestBytes(expected.kind));
    EXPECT_EQ(ChecksumKindOf(NameOf(expected.kind)), expected.kind);
  }
}

TEST(Checksum, StreamsEqualTheWhole) {
  for (const Expected& expected : kDigits) {
    ChecksumStream stream(expected.kind);
    stream.Update(Bytes("1234"));
    stream.Update({});
    stream.Update(Bytes("56789"));
    EXPECT_EQ(stream.Finish().Hex(), expected.hex);
  }
}

TEST(Checksum, Base64IsWhatStoresSend) {
  EXPECT_EQ(ChecksumOf(ChecksumKind::kCrc32c, Bytes("123456789")).Base64(), "4waSgw==");
  EXPECT_EQ(ChecksumOf(ChecksumKind::kCrc64Nvme, Bytes("123456789")).Base64(), "rosUhgp5mIg=");
}

TEST(Checksum, NamesCompareWithoutCase) {
  EXPECT_EQ(ChecksumKindOf("CRC64NVME"), ChecksumKind::kCrc64Nvme);
  EXPECT_EQ(ChecksumKindOf("crc"), std::nullopt);
  EXPECT_EQ(ChecksumKindOf(""), std::nullopt);
}

// RFC 4648 section 10: "foobar" letter by letter.
TEST(Base64, KnownVectors) {
  const std::string whole = "foobar";
  const char* const encoded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (size_t size = 0; size <= whole.size(); ++size) {
    EXPECT_EQ(Base64Encode(whole.substr(0, size)), encoded[size]);
    EXPECT_EQ(Base64Decode(encoded[size]), whole.substr(0, size));
  }
  EXPECT_EQ(Base64Encode(std::string("\xff\x00\xfe", 3)), "/wD+");
  EXPECT_EQ(Base64Decode("/wD+"), std::string("\xff\x00\xfe", 3));
}

TEST(Base64, RefusesWhatIsNotPaddedBase64) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "====", "=g==", "Zm9v\n", "Zm 9", "Zm9_", "Zh==", "Zm9="}) {
    EXPECT_EQ(Base64Decode(text), std::nullopt) << text;
  }
}

TEST(Hex, RoundTrips) {
  EXPECT_EQ(HexEncode(std::string("\x00\xab\xff", 3)), "00abff");
  EXPECT_EQ(HexDecode("00ABff"), std::string("\x00\xab\xff", 3));
  EXPECT_EQ(HexDecode("0"), std::nullopt);
  EXPECT_EQ(HexDecode("0g"), std::nullopt);
}

}  // namespace
}  // namespace assay::storage
