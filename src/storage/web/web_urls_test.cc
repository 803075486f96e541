#include "storage/web/web_urls.h"

#include <gmock/gmock.h>

#include "storage/conformance.h"
#include "storage/open.h"

namespace assay::storage {
namespace {

TEST(WebUrls, OfFolders) {
  EXPECT_EQ(*WebFolderUrl("https://Host.org/a%20b c"), "https://host.org/a%20b%20c/");
  EXPECT_EQ(*WebFolderUrl("http://[::1]:80"), "http://[::1]:80/");
  for (const char* wrong : {"", "host/a", "ftp://host/", "https://", "https://host/a?b", "https://host/a#b"}) {
    EXPECT_THAT(WebFolderUrl(wrong).status(), HasCode(ErrorCode::kInvalidArgument)) << wrong;
  }
  const Status secret = WebFolderUrl("https://me:hush@host/").status();
  EXPECT_THAT(secret, HasCode(ErrorCode::kInvalidArgument));
  EXPECT_EQ(secret.message().find("hush"), std::string::npos);
}

TEST(WebUrls, OfFiles) {
  EXPECT_EQ(WebFileUrl("https://h/d/", "a%20b \xC3\xA5?q=1&r=%2f"), "https://h/d/a%20b%20%C3%A5?q=1&r=%2f");
  EXPECT_EQ(WebUri("https://h/d/", "a?signature=hush"), "https://h/d/a?...");
  for (const char* wrong : {"", "..", "a/../b", "./a", "a#b", "50%", "a\nb", "\xff"}) {
    EXPECT_THAT(CheckWebKey(wrong, "uri"), HasCode(ErrorCode::kInvalidArgument)) << wrong;
  }
  EXPECT_THAT(CheckWebKey("a?b=../c", "uri"), IsOk());
  EXPECT_EQ(WebFileName("d/a%20b.bin?signature=x/y"), "a b.bin");
  EXPECT_EQ(WebFileName("a%2Fb"), "a%2Fb");
  EXPECT_EQ(WebFileName("%2e%2e"), "%2e%2e");
}

TEST(WebUrls, Redirects) {
  const std::string url = "https://h/d/a?q";
  EXPECT_EQ(RedirectTarget(url, "https://o/x?y#z"), "https://o/x?y");
  EXPECT_EQ(RedirectTarget(url, "//o/x"), "https://o/x");
  EXPECT_EQ(RedirectTarget(url, "/x"), "https://h/x");
  EXPECT_EQ(RedirectTarget(url, "x?u=http://o/"), "https://h/d/x?u=http://o/");
  EXPECT_EQ(RedirectTarget(url, "?r"), "https://h/d/a?r");
  EXPECT_EQ(RedirectTarget(url, "http://h/x"), std::nullopt);
  EXPECT_EQ(RedirectTarget(url, "file:///etc/passwd"), std::nullopt);
  EXPECT_EQ(RedirectTarget("http://h/x", "https://h/x"), "https://h/x");
}

TEST(WebUrls, AreUris) {
  const auto file = ParseStoreUri("https://host.org:8443/a/b/c.bin?x=/y");
  ASSERT_THAT(file.status(), IsOk());
  EXPECT_EQ(file->bucket, "host.org:8443/a/b");
  EXPECT_EQ(file->key, "c.bin?x=/y");
  const auto folder = ParseStoreUri("http://host/a/");
  ASSERT_THAT(folder.status(), IsOk());
  EXPECT_EQ(folder->bucket, "host/a");
  EXPECT_EQ(folder->key, "");
  EXPECT_THAT(ParseStoreUri("https://host?x").status(), HasCode(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseStoreUri("https://me:hush@host/a").status(), HasCode(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace assay::storage
