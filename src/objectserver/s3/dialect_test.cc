#include "objectserver/s3/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "objectserver/s3/google_headers.h"
#include "objectserver/server.h"
#include "objectserver/testing.h"
#include "storage/auth/sigv4.h"

namespace assay::objectserver::s3 {
namespace {

using objectserver::testing::Harness;
using objectserver::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(S3, PutsAndGets) {
  Harness harness;
  const Reply put =
      harness.Send("PUT", "/test/a%20b//%C3%A4+c", "hello",
                   {{"Content-Type", "text/x"}, {"x-amz-meta-Who", "me"}, {"Content-MD5", "XUFAKrxLKna5cZ2REBfFkg=="}});
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.Header("ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  const Reply get = harness.Send("GET", "/test/a%20b//%C3%A4+c");
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(get.body, "hello");
  EXPECT_EQ(get.Header("content-type"), "text/x");
  EXPECT_EQ(get.Header("x-amz-meta-who"), "me");
  EXPECT_EQ(harness.Send("GET", "/test/missing").Xml("Code"), "NoSuchKey");
  EXPECT_EQ(harness.Send("GET", "/nowhere/key").Xml("Code"), "NoSuchBucket");
}

TEST(S3, ReadsRanges) {
  Harness harness;
  harness.Send("PUT", "/test/k", "0123456789");
  const auto range = [&](const char* value) { return harness.Send("GET", "/test/k", "", {{"Range", value}}); };
  EXPECT_EQ(range("bytes=2-4").body, "234");
  EXPECT_EQ(range("bytes=2-4").Header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(range("bytes=8-").body, "89");
  EXPECT_EQ(range("bytes=-3").body, "789");
  EXPECT_EQ(range("bytes=5-99").body, "56789");
  EXPECT_EQ(range("bytes=10-").status, 416);
  EXPECT_EQ(range("bytes=4-2").status, 200);
  EXPECT_EQ(range("bytes=1-9223372036854775807").status, 206);
  EXPECT_EQ(range("bytes=1-99999999999999999999").body, "123456789");
  EXPECT_EQ(range("bytes=-99999999999999999999").body, "0123456789");
  EXPECT_EQ(range("bytes=99999999999999999999-").status, 416);
  EXPECT_EQ(range("bytes=1-0x5").status, 200);
  EXPECT_EQ(range("bytes=+1-5").status, 200);
  EXPECT_EQ(range("lines=1-2").status, 200);
}

TEST(S3, RefusesKeysThatAreNoText) {
  Harness harness;
  for (const char* key : {"a%00b", "%ff", "%C0%80", "%ED%A0%80"}) {
    const std::string target = std::string("/test/") + key;
    EXPECT_EQ(harness.Send("PUT", target, "x").Xml("Code"), "InvalidURI") << key;
    EXPECT_EQ(harness.Send("POST", target + "?uploads").Xml("Code"), "InvalidURI") << key;
    EXPECT_EQ(harness.Send("GET", target).Xml("Code"), "NoSuchKey") << key;
  }
  EXPECT_EQ(harness.Send("PUT", "/test/%E2%82%AC", "x").status, 200);
}

TEST(S3, JudgesConditions) {
  Harness harness;
  const std::string etag = harness.Send("PUT", "/test/k", "x").Header("ETag");
  EXPECT_EQ(harness.Send("GET", "/test/k", "", {{"If-None-Match", etag}}).status, 304);
  EXPECT_EQ(harness.Send("GET", "/test/k", "", {{"If-Match", "\"other\""}}).status, 412);
  EXPECT_EQ(harness.Send("GET", "/test/k", "", {{"If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"}}).status, 304);
  EXPECT_EQ(harness.Send("GET", "/test/k", "", {{"If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"}}).status, 412);
  EXPECT_EQ(harness.Send("PUT", "/test/k", "y", {{"If-None-Match", "*"}}).Xml("Code"), "PreconditionFailed");
  EXPECT_EQ(harness.Send("PUT", "/test/k", "y", {{"If-Match", "\"other\""}}).status, 412);
  EXPECT_EQ(harness.Send("PUT", "/test/k", "y", {{"If-Match", etag}}).status, 200);
  EXPECT_EQ(harness.Send("PUT", "/test/none", "y", {{"If-Match", etag}}).Xml("Code"), "NoSuchKey");
  EXPECT_EQ(harness.Send("PUT", "/test/new", "y", {{"If-None-Match", "*"}}).status, 200);
}

TEST(S3, ChecksWhatItReceives) {
  Harness harness;
  const auto put = [&](const http::Header& header) { return harness.Send("PUT", "/test/k", "hello", {header}); };
  EXPECT_EQ(put({"Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="}).Xml("Code"), "BadDigest");
  EXPECT_EQ(put({"Content-MD5", "no"}).Xml("Code"), "InvalidDigest");
  EXPECT_EQ(put({"x-amz-checksum-crc32c", "AAAAAA=="}).Xml("Code"), "BadDigest");
  EXPECT_EQ(put({"x-amz-checksum-crc32c", "mnG7TA=="}).status, 200);
  EXPECT_EQ(put({"x-amz-content-sha256", std::string(64, '0')}).Xml("Code"), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(put({"x-amz-sdk-checksum-algorithm", "CRC32"}).Xml("Code"), "InvalidRequest");
  EXPECT_EQ(harness.Send("GET", "/test/k", "", {{"x-amz-checksum-mode", "ENABLED"}}).Header("x-amz-checksum-crc32c"),
            "mnG7TA==");
  EXPECT_EQ(put({"x-amz-meta-big", std::string(2100, 'x')}).Xml("Code"), "MetadataTooLarge");
  EXPECT_EQ(harness.Send("PUT", "/test/" + std::string(1025, 'k'), "x").Xml("Code"), "KeyTooLongError");
}

TEST(S3, ReadsAwsChunkedBodies) {
  Harness harness;
  const std::vector<http::Header> headers = {{"x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"},
                                             {"x-amz-decoded-content-length", "5"},
                                             {"Content-Encoding", "aws-chunked"},
                                             {"x-amz-trailer", "x-amz-checksum-crc32c"}};
  const auto body = [](std::string_view trailer) {
    return "2\r\nhe\r\n3\r\nllo\r\n0\r\n" + std::string(trailer) + "\r\n";
  };
  EXPECT_EQ(harness.Send("PUT", "/test/k", body("x-amz-checksum-crc32c:mnG7TA==\r\n"), headers).status, 200);
  EXPECT_EQ(harness.Send("GET", "/test/k").body, "hello");
  EXPECT_EQ(harness.Send("GET", "/test/k").Header("Content-Encoding"), "");
  EXPECT_EQ(harness.Send("PUT", "/test/k", body("x-amz-checksum-crc32c:AAAAAA==\r\n"), headers).Xml("Code"),
            "BadDigest");
  EXPECT_EQ(harness.Send("PUT", "/test/k", body(""), headers).Xml("Code"), "MalformedTrailerError");
  EXPECT_EQ(harness.Send("PUT", "/test/k", "2\r\nhello\r\n0\r\n\r\n", headers).Xml("Code"), "IncompleteBody");
}

TEST(S3, ListsWithDelimiterInPages) {
  Harness harness;
  for (const char* key : {"a", "b/1", "b/2", "c/d/3", "e&<", "f"}) {
    harness.Send("PUT", std::string("/test/") + key, "x");
  }
  std::string seen;
  std::string token;
  int pages = 0;
  do {
    const Reply page = harness.Send(
        "GET", "/test?list-type=2&delimiter=/&max-keys=2" + (token.empty() ? "" : "&continuation-token=" + token));
    ASSERT_EQ(page.status, 200);
    token = page.Xml("NextContinuationToken");
    seen += page.body;
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(pages, 3);
  for (const char* text :
       {"<Key>a</Key>", "<Prefix>b/</Prefix>", "<Prefix>c/</Prefix>", "<Key>e&amp;&lt;</Key>", "<Key>f</Key>"}) {
    EXPECT_THAT(seen, HasSubstr(text));
  }
  EXPECT_THAT(seen, Not(HasSubstr("b/1")));
  EXPECT_THAT(harness.Send("GET", "/test?prefix=b/&marker=b/1").body, HasSubstr("<Key>b/2</Key>"));
  EXPECT_THAT(harness.Send("GET", "/test?list-type=2&start-after=e%26%3C").body, Not(HasSubstr("<Key>e")));
}

TEST(S3, JoinsParts) {
  Harness harness;
  const std::string first(5 << 20, 'a');
  const std::string id = harness.Send("POST", "/test/k?uploads").Xml("UploadId");
  const auto part = [&](int number, const std::string& body) {
    return harness.Send("PUT", "/test/k?partNumber=" + std::to_string(number) + "&uploadId=" + id, body).Header("ETag");
  };
  const std::string etag2 = part(2, "tail");
  const std::string etag1 = part(1, first);
  const auto complete = [&](const std::string& parts) {
    return harness.Send("POST", "/test/k?uploadId=" + id,
                        "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>");
  };
  const auto name = [](int number, const std::string& etag) {
    return "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + etag + "</ETag></Part>";
  };
  EXPECT_THAT(harness.Send("GET", "/test?uploads").body, HasSubstr(id));
  EXPECT_THAT(harness.Send("GET", "/test/k?uploadId=" + id).body, HasSubstr("<PartNumber>2</PartNumber>"));
  EXPECT_EQ(complete(name(2, etag2) + name(1, etag1)).Xml("Code"), "InvalidPartOrder");
  EXPECT_EQ(complete(name(1, etag2)).Xml("Code"), "InvalidPart");
  EXPECT_EQ(complete("").Xml("Code"), "MalformedXML");
  EXPECT_EQ(harness.Send("GET", "/test/k").status, 404);
  const Reply done = complete(name(1, etag1) + name(2, etag2));
  EXPECT_EQ(done.status, 200);
  EXPECT_THAT(done.Xml("ETag"), HasSubstr("-2"));
  EXPECT_EQ(complete(name(1, etag1) + name(2, etag2)).Xml("ETag"), done.Xml("ETag")) << "asked again";
  EXPECT_EQ(harness.Send("GET", "/test/k").body, first + "tail");
  EXPECT_EQ(harness.Send("GET", "/test/k?partNumber=2").body, "tail");
  EXPECT_EQ(harness.Send("GET", "/test/k?partNumber=2").Header("x-amz-mp-parts-count"), "2");
  const Reply range =
      harness.Send("GET", "/test/k", "", {{"Range", "bytes=5242880-5242883"}, {"x-amz-checksum-mode", "ENABLED"}});
  EXPECT_EQ(range.body, "tail");
  EXPECT_NE(range.Header("x-amz-checksum-crc64nvme"), "");
}

TEST(S3, EtagsUnderAwsKmsSayNothingOfTheContent) {
  Harness harness;
  const auto put = [&](const char* encryption) {
    return harness.Send("PUT", "/test/k", "hello", {{"x-amz-server-side-encryption", encryption}}).Header("ETag");
  };
  EXPECT_EQ(put("AES256"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_NE(put("aws:kms"), put("AES256"));
  EXPECT_NE(put("aws:kms"), put("aws:kms"));
}

TEST(S3, RefusesSmallParts) {
  Harness harness;
  const std::string id = harness.Send("POST", "/test/k?uploads").Xml("UploadId");
  std::string parts;
  for (int number = 1; number <= 2; ++number) {
    const std::string text = std::to_string(number);
    const Reply put = harness.Send("PUT", "/test/k?partNumber=" + text + "&uploadId=" + id, "small");
    parts += "<Part><PartNumber>" + text + "</PartNumber><ETag>" + put.Header("ETag") + "</ETag></Part>";
  }
  EXPECT_EQ(
      harness.Send("POST", "/test/k?uploadId=" + id, "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>")
          .Xml("Code"),
      "EntityTooSmall");
  EXPECT_EQ(harness.Send("DELETE", "/test/another?uploadId=" + id).Xml("Code"), "NoSuchUpload");
  EXPECT_EQ(harness.Send("DELETE", "/test/k?uploadId=" + id).status, 204);
  EXPECT_EQ(harness.Send("PUT", "/test/k?partNumber=1&uploadId=" + id, "x").Xml("Code"), "NoSuchUpload");
  EXPECT_EQ(harness.Send("PUT", "/test/k?partNumber=10001&uploadId=" + id, "x").Xml("Code"), "InvalidArgument");
}

TEST(S3, ACopyAsGoogleMakesItHasACrc32c) {
  Harness harness;
  harness.Send("PUT", "/test/from", "content");
  EXPECT_EQ(harness.Send("PUT", "/test/to", "", {{"x-goog-copy-source", "/test/from"}}).status, 200);
  EXPECT_THAT(harness.Send("HEAD", "/test/to").Header("x-goog-hash"), HasSubstr("crc32c="));
}

TEST(S3, CopiesAndDeletes) {
  Harness harness;
  harness.Send("PUT", "/test/from", "content", {{"x-amz-meta-a", "b"}});
  EXPECT_EQ(harness.Send("PUT", "/test/to", "", {{"x-amz-copy-source", "/test/from"}}).status, 200);
  EXPECT_EQ(harness.Send("GET", "/test/to").body, "content");
  EXPECT_EQ(harness.Send("GET", "/test/to").Header("x-amz-meta-a"), "b");
  EXPECT_EQ(harness.Send("PUT", "/test/to", "", {{"x-amz-copy-source", "/test/to"}}).Xml("Code"), "InvalidRequest");
  EXPECT_EQ(harness.Send("PUT", "/test/x", "", {{"x-amz-copy-source", "/test/none"}}).Xml("Code"), "NoSuchKey");
  const Reply deleted = harness.Send(
      "POST", "/test?delete", "<Delete><Object><Key>from</Key></Object><Object><Key>none</Key></Object></Delete>");
  EXPECT_THAT(deleted.body, HasSubstr("<Deleted><Key>none</Key></Deleted>"));
  EXPECT_EQ(harness.Send("HEAD", "/test/from").status, 404);
  EXPECT_EQ(harness.Send("DELETE", "/test").Xml("Code"), "BucketNotEmpty");
  EXPECT_EQ(harness.Send("DELETE", "/test/to").status, 204);
  EXPECT_EQ(harness.Send("DELETE", "/test").status, 204);
}

TEST(S3, RoutesBucketsByHostAndRefusesStrangeRequests) {
  Harness harness;
  EXPECT_EQ(harness.Send("PUT", "/k", "x", {{"Host", "test.localhost:9000"}}).status, 200);
  EXPECT_EQ(harness.Send("GET", "/test/k").body, "x");
  EXPECT_EQ(harness.Send("GET", "/test?acl").Xml("Code"), "NotImplemented");
  EXPECT_EQ(harness.Send("PATCH", "/test/k").Xml("Code"), "MethodNotAllowed");
  EXPECT_EQ(harness.Send("GET", "/test/%zz").Xml("Code"), "InvalidURI");
  EXPECT_EQ(harness.Send("PUT", "/Bad_Name").Xml("Code"), "InvalidBucketName");
  EXPECT_EQ(harness.Send("PUT", "/metrics2").status, 200);
  EXPECT_THAT(harness.Send("GET", "/metrics").body, HasSubstr("assay_object_connections_open"));
}

/// A request of `method` for /test/k signed as `secret`, its payload hash being `payload`.
http::Request Signed(const std::string& method, const std::string& secret, std::string_view payload,
                     const storage::SigV4Key** key_out) {
  static storage::SigV4Key key;
  const std::string timestamp = storage::SigV4Timestamp(UnixSeconds());
  key.access_key_id = "AK";
  key.scope = {timestamp.substr(0, 8), "us-east-1", "s3"};
  key.signing_key = storage::SigningKey(storage::kAws4Hmac, secret, key.scope);
  http::Request request;
  request.method = method;
  request.url = "http://127.0.0.1:9000/test/k";
  if (payload.starts_with("STREAMING-")) {
    request.headers.Add("x-amz-decoded-content-length", "5");
    request.headers.Add("x-amz-trailer", "x-amz-checksum-crc32c");
  }
  EXPECT_TRUE(storage::SignHeaders(storage::kAws4Hmac, key, timestamp, payload, request));
  *key_out = &key;
  return request;
}

/// "hello" in signed chunks, with a signed trailer.
std::string SignedChunks(const storage::SigV4Key& key, const http::Request& request, std::string_view content) {
  const std::string timestamp(*request.headers.Find("x-amz-date"));
  const std::string authorization(*request.headers.Find("Authorization"));
  std::string seed = authorization.substr(authorization.rfind('=') + 1);
  std::string body;
  for (const std::string_view chunk : {content.substr(0, 2), content.substr(2), std::string_view()}) {
    seed = storage::ChunkSignature(key, timestamp, seed, storage::Sha256(chunk));
    body += std::to_string(chunk.size()) + ";chunk-signature=" + seed + "\r\n" + std::string(chunk) +
            (chunk.empty() ? "" : "\r\n");
  }
  const std::string trailer = "x-amz-checksum-crc32c:mnG7TA==";
  return body + trailer +
         "\r\nx-amz-trailer-signature:" + storage::TrailerSignature(key, timestamp, seed, trailer + "\n") + "\r\n\r\n";
}

class SignedS3 : public ::testing::Test {
 protected:
  SignedS3() {
    const std::string path = directory_.path() + "/credentials.yaml";
    EXPECT_TRUE(WriteFileAtomically(path, "keys:\n  - {access_key_id: AK, secret_access_key: SK}\n").ok());
    options_.credentials_file = path;
  }
  Reply Send(Harness& harness, const http::Request& request, std::string_view body) {
    return harness.Send(request.method, "/test/k", body, request.headers.all());
  }
  TemporaryDirectory directory_ = TemporaryDirectory::Create("assay-s3-test").value();
  ServeOptions options_;
};

TEST_F(SignedS3, ChecksSignaturesOfRequestsChunksAndTrailers) {
  Harness harness(options_);
  const storage::SigV4Key* key = nullptr;
  const std::string hash = storage::Hex(storage::Sha256("hello"));
  EXPECT_EQ(Send(harness, Signed("PUT", "SK", hash, &key), "hello").status, 200);
  EXPECT_EQ(Send(harness, Signed("PUT", "SK", hash, &key), "HELLO").Xml("Code"), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(Send(harness, Signed("PUT", "other", hash, &key), "hello").Xml("Code"), "SignatureDoesNotMatch");
  EXPECT_EQ(harness.Send("GET", "/test/k").Xml("Code"), "AccessDenied");
  const http::Request streamed = Signed("PUT", "SK", storage::kStreamingSignedTrailer, &key);
  const std::string chunks = SignedChunks(*key, streamed, "hello");
  EXPECT_EQ(Send(harness, streamed, chunks).status, 200);
  std::string changed = chunks;
  changed[changed.find("llo")] = 'L';
  EXPECT_EQ(Send(harness, streamed, changed).Xml("Code"), "SignatureDoesNotMatch");
  changed = chunks;
  changed[changed.rfind('=') == std::string::npos ? 0 : changed.size() - 6] ^= 1;
  EXPECT_EQ(Send(harness, streamed, changed).Xml("Code"), "SignatureDoesNotMatch") << "the trailer's";
}

// Whoever is on the way, or holds a signed URL, could add them.
TEST_F(SignedS3, RefusesHeadersOfEitherDialectThatWereNotSigned) {
  Harness harness(options_);
  const storage::SigV4Key* key = nullptr;
  const std::string hash = storage::Hex(storage::Sha256("hello"));
  for (const char* name : {"x-goog-content-sha256", "x-goog-copy-source", "x-goog-hash", "x-amz-copy-source"}) {
    http::Request request = Signed("PUT", "SK", hash, &key);
    request.headers.Add(name, "UNSIGNED-PAYLOAD");
    const Reply reply = Send(harness, request, "HELLO");
    EXPECT_EQ(reply.status, 403) << name;
    EXPECT_EQ(reply.Xml("Message"),
              "There were headers present in the request which were not signed: " + std::string(name));
  }
}

TEST(GoogleHeaders, LeaveAmazonsAsTheyAre) {
  Request request;
  request.head.headers.Add("x-amz-content-sha256", "one");
  request.head.headers.Add("x-goog-content-sha256", "other");
  request.head.headers.Add("x-goog-copy-source", "/b/k");
  AddAmazonNames(request);
  EXPECT_EQ(request.head.headers.Find("x-amz-content-sha256"), "one");
  EXPECT_EQ(request.head.headers.Find("x-amz-copy-source"), "/b/k");
}

TEST(ObjectServer, StartsAndStops) {
  ServeOptions options;
  options.buckets = {"one"};
  const auto server = ObjectServer::Start(options);
  ASSERT_TRUE(server.ok()) << server.status().message();
  EXPECT_GT((*server)->port(), 0);
  EXPECT_TRUE((*server)->store().FindBucket("one").has_value());
  options.dialects = {"s4"};
  EXPECT_FALSE(ObjectServer::Start(options).ok());
}

}  // namespace
}  // namespace assay::objectserver::s3
