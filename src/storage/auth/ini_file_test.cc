#include "storage/auth/ini_file.h"

#include <gtest/gtest.h>

namespace assay::storage {
namespace {

TEST(IniFile, ReadsWhatTheAwsToolsWrite) {
  const auto file = ParseIni(
      "# comment\n[default]\nRegion = eu-west-1\nkey: a=b\n\n[profile x]\n; more\ns3 =\n"
      "  endpoint_url = http://h\n  other = 1\nlong = first\n  second\n",
      "test");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const IniFile expected = {
      {"default", {{"region", "eu-west-1"}, {"key", "a=b"}}},
      {"profile x", {{"s3", ""}, {"s3.endpoint_url", "http://h"}, {"s3.other", "1"}, {"long", "first\nsecond"}}}};
  EXPECT_EQ(*file, expected);
}

TEST(IniFile, ErrorsNameTheLineAndNotItsText) {
  for (const char* text : {"[a]\nhunter2", "hunter2 = 1", "[hunter2", "[a]\n hunter2", "[a]\n= hunter2"}) {
    const auto file = ParseIni(text, "~/.aws/config");
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_NE(file.status().message().find("cannot read ~/.aws/config, line "), std::string::npos);
    EXPECT_EQ(file.status().message().find("hunter2"), std::string::npos);
  }
}

TEST(IniFile, AMissingFileIsEmpty) {
  const auto file = ReadIniFile("/nowhere/config");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->empty());
}

}  // namespace
}  // namespace assay::storage
