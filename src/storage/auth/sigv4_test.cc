#include "storage/auth/sigv4.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

// The worked examples of "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
constexpr char kSecret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr char kTimestamp[] = "20130524T000000Z";

SigV4Key ExampleKey() {
  SigV4Key key{"AKIAIOSFODNN7EXAMPLE", "", {"20130524", "us-east-1", "s3"}, {}};
  key.signing_key = SigningKey(kAws4Hmac, kSecret, key.scope);
  return key;
}

std::string SignatureOf(const http::Request& request) {
  const std::string authorization(request.headers.Find("Authorization").value_or(""));
  return authorization.substr(authorization.rfind('=') + 1);
}

http::Request Example(std::string url, std::string method = "GET") {
  http::Request request;
  request.method = std::move(method);
  request.url = "https://examplebucket.s3.amazonaws.com" + url;
  return request;
}

TEST(SigV4, SignsTheExamplesOfTheS3Reference) {
  http::Request get = Example("/test.txt");
  get.headers.Add("Range", "bytes=0-9");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kEmptyPayloadHash, get));
  EXPECT_EQ(SignatureOf(get), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

  http::Request put = Example("/test$file.text", "PUT");
  put.headers.Add("Date", "Fri, 24 May 2013 00:00:00 GMT");
  put.headers.Add("x-amz-storage-class", "REDUCED_REDUNDANCY");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp,
                          "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", put));
  EXPECT_EQ(SignatureOf(put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");

  http::Request lifecycle = Example("/?lifecycle");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kEmptyPayloadHash, lifecycle));
  EXPECT_EQ(SignatureOf(lifecycle), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");

  http::Request list = Example("/?max-keys=2&prefix=J");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kEmptyPayloadHash, list));
  EXPECT_EQ(SignatureOf(list), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, PresignsTheExampleOfTheS3Reference) {
  const std::string url = PresignUrl(kAws4Hmac, ExampleKey(), kTimestamp, 86400, Example("/test.txt"));
  EXPECT_EQ(url,
            "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
            "AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires="
            "86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

// "Transferring Payload in Multiple Chunks": 66,560 bytes of 'a' in chunks of 64 KiB.
TEST(SigV4, SignsTheChunksOfTheS3Reference) {
  http::Request put;
  put.method = "PUT";
  put.url = "https://s3.amazonaws.com/examplebucket/chunkObject.txt";
  put.headers.Add("x-amz-storage-class", "REDUCED_REDUNDANCY");
  put.headers.Add("Content-Encoding", "aws-chunked");
  put.headers.Add("x-amz-decoded-content-length", "66560");
  put.headers.Add("Content-Length", "66824");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kStreamingSigned, put));
  const std::string seed = SignatureOf(put);
  EXPECT_EQ(seed, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9");
  const auto first = ChunkSignature(ExampleKey(), kTimestamp, seed, Sha256(std::string(65536, 'a')));
  EXPECT_EQ(first, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
  const auto second = ChunkSignature(ExampleKey(), kTimestamp, first, Sha256(std::string(1024, 'a')));
  EXPECT_EQ(second, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
  const auto last = ChunkSignature(ExampleKey(), kTimestamp, second, Sha256(""));
  EXPECT_EQ(last, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9");
}

TEST(SigV4, SignsAgainWithoutLeavingTheOldProof) {
  http::Request request = Example("/test.txt");
  request.headers.Add("Range", "bytes=0-9");
  SigV4Key session = ExampleKey();
  session.session_token = "token";
  ASSERT_TRUE(SignHeaders(kAws4Hmac, session, "20130524T000001Z", kEmptyPayloadHash, request));
  EXPECT_EQ(request.headers.Find("x-amz-security-token"), "token");
  request.headers.Remove("x-amz-security-token");
  ASSERT_TRUE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kEmptyPayloadHash, request));
  EXPECT_EQ(SignatureOf(request), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, RefusesWhatIsNoUrl) {
  http::Request request;
  request.url = "examplebucket/test.txt";
  EXPECT_FALSE(SignHeaders(kAws4Hmac, ExampleKey(), kTimestamp, kEmptyPayloadHash, request));
  EXPECT_EQ(PresignUrl(kAws4Hmac, ExampleKey(), kTimestamp, 60, request), "");
}

std::string Path(std::string_view path) {
  std::string text;
  AppendCanonicalPath(text, path);
  return text;
}

std::string Query(std::string_view query, std::string_view leave_out = {}) {
  std::string text;
  AppendCanonicalQuery(text, query, leave_out);
  return text;
}

TEST(Canonical, PathsAreEncodedOnce) {
  EXPECT_EQ(Path("/a%20b/c~d"), "/a%20b/c~d");
  EXPECT_EQ(Path("/a b+c"), "/a%20b%2Bc");
  EXPECT_EQ(Path("/%7euser/%c3%a9"), "/~user/%C3%A9");
  EXPECT_EQ(Path("//a/../b/./"), "//a/../b/./");
  EXPECT_EQ(Path("/a%2Fb"), "/a%2Fb");
  EXPECT_EQ(Path("/100%"), "/100%25");
  EXPECT_EQ(Path("/%zz%4"), "/%25zz%254");
}

TEST(Canonical, QueriesAreSortedByEncodedNameAndValue) {
  EXPECT_EQ(Query("b=2&a=1"), "a=1&b=2");
  EXPECT_EQ(Query("a=2&a=1&a"), "a=&a=1&a=2");
  EXPECT_EQ(Query("uploads"), "uploads=");
  EXPECT_EQ(Query("prefix=a+b%20c&x=%2b"), "prefix=a%20b%20c&x=%2B");
  EXPECT_EQ(Query("a=1=2"), "a=1%3D2");
  EXPECT_EQ(Query("&&a=1&"), "a=1");
  EXPECT_EQ(Query("X-Amz-Signature=f00&a=1", "X-Amz-Signature"), "a=1");
}

TEST(Canonical, HeadersAreFoldedAndJoined) {
  CanonicalParts parts{.method = "GET", .path = "/", .headers = {}, .payload_hash = "hash"};
  parts.headers = {{"x-b", "  two \t words  "}, {"a", "1"}, {"x-b", "next"}, {"c", ""}};
  EXPECT_EQ(CanonicalRequest(parts), "GET\n/\n\na:1\nc:\nx-b:two words,next\n\na;c;x-b\nhash");
}

TEST(Times, AreReadAndWritten) {
  EXPECT_EQ(SigV4Timestamp(1369353600), kTimestamp);
  EXPECT_EQ(ParseSigV4Timestamp(kTimestamp), 1369353600);
  EXPECT_EQ(ParseSigV4Timestamp("20130524T000000"), std::nullopt);
  EXPECT_EQ(ParseSigV4Timestamp("20130524T000000Z "), std::nullopt);
  EXPECT_EQ(HttpDate(1369353600), "Fri, 24 May 2013 00:00:00 GMT");
  EXPECT_EQ(ParseHttpDate("Fri, 24 May 2013 00:00:00 GMT"), 1369353600);
  EXPECT_EQ(ParseHttpDate("yesterday"), std::nullopt);
  EXPECT_EQ(ParseIsoTime("2013-05-24T00:00:00Z"), 1369353600);
  EXPECT_EQ(ParseIsoTime("2013-05-24T01:00:00.5+01:00"), 1369353600.5);
  EXPECT_EQ(ParseIsoTime("2013-05-24T00:00:00UTC"), 1369353600);
  EXPECT_EQ(ParseIsoTime("2013-05-24"), std::nullopt);
}

}  // namespace
}  // namespace assay::storage
