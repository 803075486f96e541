// Which checksums the request that completes an upload names: those that the store itself said it holds. A store that
// keeps none for a part refuses a request that names one.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "http/server.h"
#include "storage/auth/anonymous_signer.h"
#include "storage/conformance.h"
#include "storage/s3/s3_store.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;

constexpr int64_t kPartBytes = 5 * kMiB;

Checksum ChecksumOfPart(const std::string& content, int number) {
  const auto offset = static_cast<size_t>((number - 1) * kPartBytes);
  return ChecksumOf(ChecksumKind::kCrc64Nvme,
                    AsBytes(content).subspan(offset).first(std::min<size_t>(kPartBytes, content.size() - offset)));
}

/// Takes one upload in parts of `content` and says the checksums of the parts in `recorded` only.
class UploadOnlyS3 {
 public:
  UploadOnlyS3(std::string content, std::set<int> recorded)
      : content_(std::move(content)), recorded_(std::move(recorded)) {
    auto server = http::Server::Start(
        {}, http::WholeBody([this](const http::RequestHead& head,
                                   std::string_view body) { return Answer(head, std::string(body)); },
                            64 * kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
  }

  std::string url() const { return server_->url(); }
  int parts_taken() const { return parts_taken_; }
  /// The body of CompleteMultipartUpload.
  std::string completion() const {
    const std::lock_guard lock(mutex_);
    return completion_;
  }

 private:
  http::ServerResponse Answer(const http::RequestHead& head, std::string body) {
    if (head.method == "PUT") {
      return TakePart(head);
    }
    if (head.method == "GET") {
      return http::TextResponse(200, PartsList());
    }
    if (head.method == "HEAD") {
      return http::TextResponse(404, "");
    }
    if (head.target.ends_with("uploads=")) {
      return http::TextResponse(200,
                                "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                                "</InitiateMultipartUploadResult>");
    }
    const std::lock_guard lock(mutex_);
    completion_ = std::move(body);
    return http::TextResponse(200,
                              "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag>"
                              "</CompleteMultipartUploadResult>");
  }

  http::ServerResponse TakePart(const http::RequestHead& head) {
    const std::string name = "partNumber=";
    const size_t begin = head.target.find(name) + name.size();
    const auto number = static_cast<int>(*ParseCount(head.target.substr(begin, 1)));
    ++parts_taken_;
    http::ServerResponse response;
    response.headers.Add("ETag", '"' + EtagOfPart(number) + '"');
    if (recorded_.contains(number)) {
      response.headers.Add("x-amz-checksum-crc64nvme", ChecksumOfPart(content_, number).Base64());
    }
    return response;
  }

  std::string PartsList() const {
    std::string parts;
    for (const int number : {1, 2}) {
      parts += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>\"" + EtagOfPart(number) +
               "\"</ETag><Size>" + std::to_string(kPartBytes) + "</Size>";
      if (recorded_.contains(number)) {
        parts += "<ChecksumCRC64NVME>" + ChecksumOfPart(content_, number).Base64() + "</ChecksumCRC64NVME>";
      }
      parts += "</Part>";
    }
    return "<ListPartsResult><IsTruncated>false</IsTruncated>" + parts + "</ListPartsResult>";
  }

  static std::string EtagOfPart(int number) { return "e" + std::to_string(number); }

  const std::string content_;
  const std::set<int> recorded_;
  std::atomic<int> parts_taken_ = 0;
  mutable std::mutex mutex_;
  std::string completion_;  // guarded by mutex_
  std::unique_ptr<http::Server> server_;
};

/// What a completion says of each part, "1 e1 CHECKSUM", without the checksum where it names none.
std::vector<std::string> PartsOf(std::string_view completion) {
  const auto text_of = [](std::string_view part, std::string_view element) {
    const size_t begin = part.find('<' + std::string(element) + '>');
    const std::string_view rest = begin == part.npos ? "" : part.substr(begin + element.size() + 2);
    return std::string(rest.substr(0, rest.find('<')));
  };
  std::vector<std::string> parts;
  for (size_t at = completion.find("<Part>"); at != completion.npos; at = completion.find("<Part>", at + 1)) {
    const std::string_view part = completion.substr(at, completion.find("</Part>", at) - at);
    std::string etag = text_of(part, "ETag");
    std::erase(etag, '"');
    parts.push_back(text_of(part, "PartNumber") + ' ' + etag);
    if (part.find("Checksum") != part.npos) {
      parts.back() += ' ' + text_of(part, "ChecksumCRC64NVME");
    }
  }
  return parts;
}

/// What another program would know of an upload.
class NotingJournal : public UploadJournal {
 public:
  void OnBegin(const ResumableUpload& upload) override { upload_ = upload; }
  void OnPart(const UploadedPart& part) override { upload_.parts.push_back(part); }
  Status BeforePublish() override { return Status::Ok(); }
  const ResumableUpload& upload() const { return upload_; }

 private:
  ResumableUpload upload_;
};

class S3PartChecksumsTest : public testing::Test {
 protected:
  /// Writes the content to a store that records those checksums; the parts that its completion named.
  std::vector<std::string> Write(std::set<int> recorded) {
    UploadOnlyS3 server(content_, std::move(recorded));
    return Write(server, {});
  }

  std::vector<std::string> Write(UploadOnlyS3& server, const WriteOptions& write) {
    StoreOptions options;
    options.endpoint = server.url();
    options.part_bytes = kPartBytes;
    options.max_attempts = 1;
    const auto address = S3Address::Make("bucket", options.endpoint, "us-east-1");
    EXPECT_THAT(address.status(), IsOk());
    S3Store store(std::make_unique<S3Dialect>(*address, "us-east-1", options), std::make_unique<AnonymousSigner>(),
                  options);
    const Bytes bytes = AsBytes(content_);
    EXPECT_THAT(store.Write("k", std::span(&bytes, 1), write).status(), IsOk());
    return PartsOf(server.completion());
  }

  std::string With(const std::string& part, int number) const {
    return part + ' ' + ChecksumOfPart(content_, number).Base64();
  }

  const std::string content_ = RandomContent(11 * kMiB, 1);
};

TEST_F(S3PartChecksumsTest, AllAreNamedToAStoreThatRecordsThem) {
  EXPECT_THAT(Write({1, 2, 3}), ElementsAre(With("1 e1", 1), With("2 e2", 2), With("3 e3", 3)));
}

TEST_F(S3PartChecksumsTest, NoneIsNamedToAStoreThatRecordsNone) {
  EXPECT_THAT(Write({}), ElementsAre("1 e1", "2 e2", "3 e3"));
}

TEST_F(S3PartChecksumsTest, OnlyTheRecordedOnesAreNamed) {
  EXPECT_THAT(Write({2}), ElementsAre("1 e1", With("2 e2", 2), "3 e3"));
}

TEST_F(S3PartChecksumsTest, PartsOfAnEarlierTryAreNamedAsTheStoreListsThem) {
  UploadOnlyS3 server(content_, {2, 3});
  NotingJournal journal;
  Write(server, {.journal = &journal});
  ResumableUpload earlier = journal.upload();
  std::erase_if(earlier.parts, [](const UploadedPart& part) { return part.number == 3; });
  EXPECT_THAT(Write(server, {.resume = &earlier}), ElementsAre("1 e1", With("2 e2", 2), With("3 e3", 3)));
  EXPECT_EQ(server.parts_taken(), 4);
}

}  // namespace
}  // namespace assay::storage
