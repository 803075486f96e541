// Copies within a service whose answer, or what stands afterwards, is not what was copied.
#include "storage/transfer/own_write.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/lying_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

/// What a store tells of an object.
struct Told {
  std::string content = "abc";
  std::string etag = "e";
  bool checksum = false;

  std::string Crc64() const { return ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes(content)).Base64(); }
};

/// The answer to HEAD.
http::ServerResponse Tell(const Told& told) {
  http::ServerResponse response;
  response.headers.Add("ETag", told.etag);
  if (told.checksum) {
    response.headers.Add("x-amz-checksum-crc64nvme", told.Crc64());
  }
  response.head_content_length = static_cast<int64_t>(told.content.size());
  return response;
}

/// Copies "from" to "to": what it tells of the first, in the answer, and (where it tells) of what stands then.
struct CopyingS3 {
  http::ServerResponse Answer(const http::RequestHead& head) {
    if (head.method == "PUT") {
      return http::TextResponse(
          200, "<CopyObjectResult><ETag>" + answer.etag + "</ETag>" +
                   (answer.checksum ? "<ChecksumCRC64NVME>" + answer.Crc64() + "</ChecksumCRC64NVME>" : "") +
                   "</CopyObjectResult>");
    }
    const bool of_source = head.target.ends_with("/from");
    asked_of_copy += of_source ? 0 : 1;
    if (!of_source && !standing) {
      return http::TextResponse(403, "");
    }
    return Tell(of_source ? source : *standing);
  }

  Told source;
  Told answer;
  std::optional<Told> standing;
  int asked_of_copy = 0;
};

Status CopyOn(CopyingS3& s3) {
  LyingStore store("s3://b/", [&s3](const http::RequestHead& head, std::string_view) { return s3.Answer(head); });
  return store.store().Copy("from", "to", {}).status();
}

TEST(S3Copy, WhoseAnswerProvesItIsNotAskedFor) {
  CopyingS3 same_etag;
  EXPECT_THAT(CopyOn(same_etag), IsOk());
  EXPECT_EQ(same_etag.asked_of_copy, 0);
  CopyingS3 same_checksum;
  same_checksum.source = {.checksum = true};
  same_checksum.answer = {.etag = "f", .checksum = true};
  EXPECT_THAT(CopyOn(same_checksum), IsOk());
  EXPECT_EQ(same_checksum.asked_of_copy, 0);
}

TEST(S3Copy, WhoseAnswerTellsAnotherChecksumIsAnError) {
  CopyingS3 s3;
  s3.source = {.checksum = true};
  s3.answer = {.content = "abd", .checksum = true};
  EXPECT_THAT(CopyOn(s3).message(), HasSubstr("the store published other content: crc64nvme"));
}

TEST(S3Copy, OfWhichTheAnswerTellsNothingIsComparedWithWhatStands) {
  CopyingS3 s3;
  s3.source = {.checksum = true};
  s3.answer = {.etag = "f"};
  s3.standing = Told{.etag = "f", .checksum = true};
  EXPECT_THAT(CopyOn(s3), IsOk());
  s3.standing->content = "abd";
  EXPECT_THAT(CopyOn(s3).message(), HasSubstr("published other content: crc64nvme"));
  s3.standing = Told{.content = "abcd", .etag = "f"};
  EXPECT_THAT(CopyOn(s3).message(), HasSubstr("published other content: 3 bytes were sent, the store has 4"));
}

TEST(S3Copy, ThatAnotherWroteOverOrThatCannotBeAskedForIsDone) {
  CopyingS3 s3;
  s3.answer = {.etag = "f"};
  EXPECT_THAT(CopyOn(s3), IsOk());
  s3.standing = Told{.content = "another", .etag = "g", .checksum = true};
  EXPECT_THAT(CopyOn(s3), IsOk());
}

/// Puts "to" together of "a" and "b", of whose copies it tells no checksum; what it tells of these, and (where it
/// tells) of what stands then.
struct ComposingS3 {
  http::ServerResponse Answer(const http::RequestHead& head) {
    if (head.method == "PUT") {
      return http::TextResponse(200, "<CopyPartResult><ETag>p</ETag>" + told_of_parts + "</CopyPartResult>");
    }
    if (head.method == "POST" && head.target.ends_with("uploads=")) {
      token = head.headers.Find("x-amz-meta-assay-write-token").value_or("");
      return http::TextResponse(
          200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
    }
    if (head.method == "POST") {
      return http::TextResponse(200,
                                "<CompleteMultipartUploadResult><ETag>whole</ETag></CompleteMultipartUploadResult>");
    }
    const bool of_source = !head.target.ends_with("/to");
    if (!of_source && !standing) {
      return http::TextResponse(403, "");
    }
    http::ServerResponse response = Tell(of_source ? source : *standing);
    response.headers.Add("x-amz-meta-assay-write-token", token);
    return response;
  }

  Told source = {.content = std::string(5 * kMiB, 'a'), .checksum = true};
  std::optional<Told> standing;
  std::string told_of_parts;
  std::string token;
};

Status ComposeOn(ComposingS3& s3) {
  LyingStore store("s3://b/", [&s3](const http::RequestHead& head, std::string_view) { return s3.Answer(head); });
  const std::vector<std::string> sources = {"a", "b"};
  return store.store().Compose(sources, "to", {}).status();
}

TEST(S3Compose, OfWhosePartsNoChecksumIsToldIsComparedWithWhatStands) {
  ComposingS3 s3;
  EXPECT_THAT(ComposeOn(s3), IsOk()) << "what stands is not told";
  s3.standing = Told{.content = s3.source.content + s3.source.content, .checksum = true};
  EXPECT_THAT(ComposeOn(s3), IsOk());
  s3.standing->content.back() = 'b';
  EXPECT_THAT(ComposeOn(s3).message(), HasSubstr("published other content: crc64nvme"));
  s3.standing = Told{.content = s3.source.content};
  EXPECT_THAT(ComposeOn(s3).message(),
              HasSubstr("published other content: 10485760 bytes were sent, the store has 5242880"));
}

TEST(S3Compose, OfWhosePartsAnotherKindOfChecksumIsToldIsComparedWithWhatStands) {
  ComposingS3 s3;
  s3.told_of_parts =
      "<ChecksumCRC32C>" + ChecksumOf(ChecksumKind::kCrc32c, AsBytes(s3.source.content)).Base64() + "</ChecksumCRC32C>";
  s3.standing = Told{.content = s3.source.content + s3.source.content, .checksum = true};
  EXPECT_THAT(ComposeOn(s3), IsOk());
  s3.standing->content.back() = 'b';
  EXPECT_THAT(ComposeOn(s3).message(), HasSubstr("published other content: crc64nvme"));
  s3.standing = Told{.content = s3.source.content};
  EXPECT_THAT(ComposeOn(s3).message(), HasSubstr("10485760 bytes were sent, the store has 5242880"));
}

/// Copies "from" of three bytes; the service says that it has made an object of `made`.
Status CopyOnGcs(const std::string& made) {
  const auto object = [](const std::string& name, const std::string& content) {
    return R"({"name":")" + name + R"(","generation":"7","size":")" + std::to_string(content.size()) +
           R"(","crc32c":")" + ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content)).Base64() + "\"}";
  };
  LyingStore store("gs://b/", [&](const http::RequestHead& head, std::string_view) {
    return head.method == "GET" ? http::TextResponse(200, object("from", "abc"))
                                : http::TextResponse(200, R"({"done":true,"resource":)" + object("to", made) + "}");
  });
  return store.store().Copy("from", "to", {}).status();
}

TEST(GcsCopy, HasTheSizeAndTheChecksumOfItsSource) {
  EXPECT_THAT(CopyOnGcs("abc"), IsOk());
  EXPECT_THAT(CopyOnGcs("abd").message(), HasSubstr("gs://b/to: the store published other content: crc32c"));
  EXPECT_THAT(CopyOnGcs("abcd").message(), HasSubstr("3 bytes were sent, the store has 4"));
}

}  // namespace
}  // namespace assay::storage
