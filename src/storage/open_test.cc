#include "storage/open.h"

#include <gtest/gtest.h>

namespace assay::storage {
namespace {

std::string Parts(std::string_view uri) {
  const auto parsed = ParseStoreUri(uri);
  return parsed.ok() ? parsed->scheme + "|" + parsed->bucket + "|" + parsed->key : parsed.status().message();
}

TEST(StoreUriTest, Parts) {
  EXPECT_EQ(Parts("s3://bucket/a//b c%20?x#y"), "s3|bucket|a//b c%20?x#y");
  EXPECT_EQ(Parts("s3://bucket"), "s3|bucket|");
  EXPECT_EQ(Parts("mem://m/k"), "mem|m|k");
  EXPECT_EQ(Parts("file:///data/run/x.pt"), "file|/data/run|x.pt");
  EXPECT_EQ(Parts("/x.pt"), "file|/|x.pt");
  EXPECT_EQ(Parts("x.pt"), "file|.|x.pt");
  EXPECT_EQ(Parts("run/"), "file|run|");
}

TEST(StoreUriTest, Mistakes) {
  EXPECT_NE(Parts("s4://b/k").find("file://"), std::string::npos);
  EXPECT_NE(Parts("s4://b/k").find("s3://"), std::string::npos);
  EXPECT_NE(Parts("s3:///k").find("names no bucket"), std::string::npos);
  EXPECT_NE(Parts("file://host/k").find("names a host"), std::string::npos);
  EXPECT_NE(Parts("").find("empty URI"), std::string::npos);
}

TEST(OpenStoreTest, MemoryNeedsNothing) {
  const auto opened = OpenStore("mem://m/k", {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->key, "k");
  EXPECT_EQ(opened->store->Uri("k"), "mem://m/k");
}

}  // namespace
}  // namespace assay::storage
