#include <gtest/gtest.h>

#include "http/message.h"

namespace assay::http {
namespace {

TEST(ParseUrlTest, SplitsAllParts) {
  const auto url = ParseUrl("HTTPS://Bucket.Example.com:9000/a%20b//c?x=1&y");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "bucket.example.com");
  EXPECT_EQ(url->port, 9000);
  EXPECT_EQ(url->path, "/a%20b//c");
  EXPECT_EQ(url->query, "x=1&y");
  EXPECT_EQ(url->authority(), "bucket.example.com:9000");
}

TEST(ParseUrlTest, PathDefaultsToRoot) {
  const auto url = ParseUrl("http://[::1]:80?list");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "[::1]");
  EXPECT_EQ(url->port, 80);
  EXPECT_EQ(url->path, "/");
  EXPECT_EQ(url->query, "list");
}

TEST(ParseUrlTest, RefusesWhatCannotBeRequested) {
  for (const char* text : {"", "host/path", "ftp://host/", "http://", "http://user:pw@host/", "http://host:0/",
                           "http://host:99999/", "http://host:8a/", "http://ho st/", "http://[::1/", "http://h/\n"}) {
    EXPECT_FALSE(ParseUrl(text).has_value()) << text;
  }
}

TEST(PercentTest, RoundTripsEveryByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
  }
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentEncode("a/b c~", "/"), "a/b%20c~");
  EXPECT_EQ(PercentEncode("é+%"), "%C3%A9%2B%25");
}

TEST(PercentTest, RefusesBrokenEscapes) {
  for (const char* text : {"%", "%4", "a%4", "%zz", "%4g"}) {
    EXPECT_FALSE(PercentDecode(text).has_value()) << text;
  }
  EXPECT_EQ(PercentDecode("%41"), "A");
}

}  // namespace
}  // namespace assay::http
