// What S3's requests and answers look like, without a server.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "storage/s3/aws_chunked.h"
#include "storage/s3/compose_plan.h"
#include "storage/s3/s3_address.h"
#include "storage/s3/s3_failure.h"
#include "storage/s3/s3_xml.h"

namespace assay::storage {
namespace {

std::string UrlOf(const std::string& bucket, const std::string& endpoint, std::optional<bool> virtual_host_style = {}) {
  const auto address = S3Address::Make(bucket, endpoint, "eu-west-1", virtual_host_style);
  return address.ok() ? address->ObjectUrl("a b/ü+%//..") : address.status().message();
}

TEST(S3AddressTest, Styles) {
  const std::string key = "a%20b/%C3%BC%2B%25//..";
  EXPECT_EQ(UrlOf("bucket", ""), "https://bucket.s3.eu-west-1.amazonaws.com/" + key);
  EXPECT_EQ(UrlOf("my.bucket", ""), "https://s3.eu-west-1.amazonaws.com/my.bucket/" + key);
  EXPECT_EQ(UrlOf("bucket", "http://127.0.0.1:9000"), "http://127.0.0.1:9000/bucket/" + key);
  EXPECT_EQ(UrlOf("bucket", "http://localhost:9000/s3"), "http://localhost:9000/s3/bucket/" + key);
  EXPECT_EQ(UrlOf("bucket", "https://minio.example.com"), "https://bucket.minio.example.com/" + key);
  EXPECT_EQ(UrlOf("bucket", "https://minio.example.com", false), "https://minio.example.com/bucket/" + key);
  EXPECT_NE(UrlOf("bucket", "127.0.0.1:9000").find("is no endpoint"), std::string::npos);
}

TEST(S3XmlTest, ListsAreDecoded) {
  const auto page = ParseListPage(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t=</NextContinuationToken>"
      "<Contents><Key>a+b%2B%C3%BC</Key><LastModified>2026-01-31T12:00:00.000Z</LastModified>"
      "<ETag>&quot;abc&quot;</ETag><Size>42</Size><StorageClass>GLACIER</StorageClass></Contents>"
      "<CommonPrefixes><Prefix>d%2F</Prefix></CommonPrefixes></ListBucketResult>");
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->objects.size(), 1u);
  EXPECT_EQ(page->objects[0].key, "a b+ü");
  EXPECT_EQ(page->objects[0].etag, "abc");
  EXPECT_EQ(page->objects[0].size, 42);
  EXPECT_EQ(page->objects[0].modified, 1769860800);
  EXPECT_EQ(page->prefixes, std::vector<std::string>{"d/"});
  EXPECT_EQ(page->next_page_token, "t=");
}

TEST(S3XmlTest, OtherTextIsNoList) {
  for (const char* text : {"", "<html>", "<Error><Code>SlowDown</Code></Error>", "<ListBucketResult>"}) {
    EXPECT_FALSE(ParseListPage(text).ok()) << text;
  }
}

TEST(S3XmlTest, KeysAreEscaped) {
  const std::vector<std::string> keys = {"a<&>\"b"};
  EXPECT_NE(DeleteBody(keys).find("<Key>a&lt;&amp;&gt;\"b</Key>"), std::string::npos) << DeleteBody(keys);
}

http::Response Answer(int status, const std::string& code) {
  http::Response answer;
  answer.status = status;
  answer.body = "<Error><Code>" + code + "</Code><Message>m</Message><RequestId>r</RequestId></Error>";
  return answer;
}

TEST(S3FailureTest, CodesDecide) {
  EXPECT_EQ(ReadS3Failure(Answer(503, "SlowDown"), "").kind, FailureClass::kThrottle);
  EXPECT_EQ(ReadS3Failure(Answer(400, "RequestTimeout"), "").kind, FailureClass::kStall);
  EXPECT_EQ(ReadS3Failure(Answer(400, "ExpiredToken"), "").kind, FailureClass::kExpired);
  EXPECT_EQ(ReadS3Failure(Answer(403, "RequestTimeTooSkewed"), "").kind, FailureClass::kClockSkew);
  EXPECT_EQ(ReadS3Failure(Answer(404, "NoSuchKey"), "").kind, FailureClass::kMissing);
  EXPECT_EQ(ReadS3Failure(Answer(404, "NoSuchBucket"), "").kind, FailureClass::kPermanent);
  EXPECT_EQ(ReadS3Failure(Answer(500, "InternalError"), "").kind, FailureClass::kServer);
  EXPECT_EQ(ReadS3Failure(Answer(403, "Unheard"), "").kind, FailureClass::kDenied);
}

TEST(S3FailureTest, NamesTheRightRegion) {
  http::Response answer = Answer(301, "PermanentRedirect");
  answer.headers.Add("x-amz-bucket-region", "ap-south-1");
  const Failure failure = ReadS3Failure(answer, "us-east-1");
  EXPECT_EQ(failure.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(failure.advice, "the bucket is in region ap-south-1, not us-east-1: set the region to ap-south-1");
}

TEST(S3FailureTest, NamesTheRightRegionOfAHead) {
  http::Response answer;
  answer.status = 400;
  answer.headers.Add("x-amz-bucket-region", "ap-south-1");
  EXPECT_EQ(ReadS3Failure(answer, "us-east-1").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ReadS3Failure(answer, "ap-south-1").kind, FailureClass::kExpired);
}

TEST(S3FailureTest, AnErrorInsideA200MayGoBetter) {
  const http::Response answer = Answer(200, "InternalError");
  EXPECT_EQ(FailureOfS3Body(answer, ParseS3Error(answer.body)).kind, FailureClass::kServer);
  http::Response garbage;
  garbage.status = 200;
  garbage.body = "<html>proxy</html>";
  EXPECT_EQ(FailureOfS3Body(garbage, ParseS3Error(garbage.body)).kind, FailureClass::kServer);
}

TEST(AwsChunkedTest, FramesTheBodyWhateverTheBuffer) {
  const std::string text = "hello world";
  for (const size_t buffer : {1, 2, 3, 7, 100}) {
    ChecksumSource body({std::as_bytes(std::span(text))}, ChecksumKind::kCrc32c);
    AwsChunkedSource source(body);
    for (int pass = 0; pass < 2; ++pass) {
      std::string sent;
      std::string chunk(buffer, ' ');
      while (const size_t count = source.Read(std::as_writable_bytes(std::span(chunk)))) {
        sent += chunk.substr(0, count);
      }
      EXPECT_EQ(sent, "b\r\nhello world\r\n0\r\nx-amz-checksum-crc32c:yZRlqg==\r\n\r\n");
      EXPECT_EQ(static_cast<int64_t>(sent.size()), source.bytes());
      source.Rewind();
    }
  }
}

TEST(AwsChunkedTest, WhatIsSentFromWhereItLiesIsChecksummedAllTheSame) {
  const std::string text = "hello world";
  ChecksumSource body({std::as_bytes(std::span(text).first(4)), std::as_bytes(std::span(text).subspan(4))},
                      ChecksumKind::kCrc32c);
  AwsChunkedSource source(body);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(source.Peek(100).empty());  // the head is not the body's
    std::string sent(3, ' ');
    EXPECT_EQ(source.Read(std::as_writable_bytes(std::span(sent))), 3);
    for (auto piece = source.Peek(3); !piece.empty(); piece = source.Peek(3)) {
      sent.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      source.Skip(piece.size());
    }
    EXPECT_EQ(sent, "b\r\n" + text.substr(0, text.size() - 1));
    std::string rest(100, ' ');
    rest.resize(source.Read(std::as_writable_bytes(std::span(rest))));
    EXPECT_EQ(rest, "d\r\n0\r\nx-amz-checksum-crc32c:yZRlqg==\r\n\r\n");
    source.Rewind();
  }
}

TEST(ComposePlanTest, PartsAreLegalAndInOrder) {
  const std::vector<std::vector<int64_t>> cases = {{},
                                                   {0},
                                                   {1},
                                                   {5 * kMiB},
                                                   {3 * kMiB, 3 * kMiB, 3 * kMiB},
                                                   {20 * kMiB, 1, 20 * kMiB},
                                                   {1, kMiB, 0},
                                                   {13 * kMiB},
                                                   {16 * kMiB, 17 * kMiB, 4 * kMiB}};
  for (const auto& sizes : cases) {
    const auto parts = PlanCompose(sizes, 5 * kMiB, 12 * kMiB);
    size_t source = 0;
    int64_t offset = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t bytes = 0;
      for (const SourceRange& range : parts[i].ranges) {
        while (source < sizes.size() && offset == sizes[source]) {
          ++source;
          offset = 0;
        }
        EXPECT_EQ(range.source, source);
        EXPECT_EQ(range.offset, offset);
        offset += range.bytes;
        bytes += range.bytes;
      }
      EXPECT_TRUE(bytes >= 5 * kMiB || i + 1 == parts.size());
      EXPECT_LE(bytes, 12 * kMiB);
    }
    while (source < sizes.size() && offset == sizes[source]) {
      ++source;
      offset = 0;
    }
    EXPECT_EQ(source, sizes.size());
  }
}

}  // namespace
}  // namespace assay::storage
