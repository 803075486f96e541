// The end of a resumable upload to GCS whose object differs from what was sent, or was published earlier.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/gcs/gcs_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

/// Takes one resumable upload, whose write has the token "mine"; `standing` is what it has under any key afterwards.
class ResumableOnlyGcs {
 public:
  ResumableOnlyGcs(std::string standing, bool taken) : standing_(std::move(standing)), taken_(taken) {
    auto server = http::Server::Start(
        {},
        http::WholeBody([this](const http::RequestHead& head, std::string_view) { return Answer(head); }, 4 * kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
  }
  std::string url() const { return server_->url(); }
  int chunks() const { return chunks_; }

 private:
  http::ServerResponse Answer(const http::RequestHead& head) {
    if (head.method == "POST" && taken_) {
      return http::TextResponse(412, R"({"error": {"errors": [{"reason": "conditionNotMet"}]}})");
    }
    http::ServerResponse answer = http::TextResponse(200, Object());
    if (head.method == "POST") {
      answer.headers.Add("Location", url() + "/session");
    } else if (head.method == "PUT") {
      ++chunks_;
      const std::string range(head.headers.Find("content-range").value_or(""));
      if (range.ends_with("/*")) {
        answer = http::TextResponse(308, "");
        answer.headers.Add("Range",
                           "bytes=0-" + range.substr(range.find('-') + 1, range.find('/') - range.find('-') - 1));
      }
    }
    return answer;
  }

  std::string Object() const {
    return R"({"name": "k", "generation": "7", "metadata": {"assay-write-token": "mine"}, "size": ")" +
           std::to_string(standing_.size()) + R"(", "crc32c": ")" +
           ChecksumOf(ChecksumKind::kCrc32c, AsBytes(standing_)).Base64() + "\"}";
  }

  const std::string standing_;
  const bool taken_;
  std::atomic<int> chunks_ = 0;
  std::unique_ptr<http::Server> server_;
};

class GcsPublishTest : public testing::Test {
 protected:
  Status Create(const ResumableOnlyGcs& server) {
    StoreOptions options;
    options.endpoint = server.url();
    options.anonymous = true;
    options.part_bytes = 256 << 10;
    const auto store = OpenGcs("bucket", options);
    EXPECT_THAT(store.status(), IsOk());
    auto writer = (*store)->OpenWriter("k", {.condition = {WriteCondition::Kind::kAbsent, ""}, .write_token = "mine"});
    EXPECT_THAT(writer.status(), IsOk());
    const Status written = (*writer)->Write(AsBytes(content_));
    return written.ok() ? (*writer)->Commit().status() : written;
  }

  const std::string content_ = RandomContent(600 << 10, 1);
};

TEST_F(GcsPublishTest, AnObjectThatDiffersIsAnErrorAndIsNamed) {
  std::string other = content_;
  other[5] ^= 1;
  ResumableOnlyGcs server(other, false);
  const Status status = Create(server);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr("gs://bucket/k: the store published other content"));
  EXPECT_THAT(status.message(), HasSubstr("there stands now: 614400 bytes, crc32c " +
                                          ChecksumOf(ChecksumKind::kCrc32c, AsBytes(other)).Hex() + ", etag 7"));
}

TEST_F(GcsPublishTest, WhatAnEarlierTryPublishedIsNotSentAgain) {
  ResumableOnlyGcs server(content_, true);
  EXPECT_THAT(Create(server), IsOk());
  EXPECT_EQ(server.chunks(), 0);
}

TEST_F(GcsPublishTest, WhatAnEarlierTryPublishedMustBeTheSame) {
  for (const std::string& other : {content_ + "x", content_.substr(1), 'x' + content_.substr(1)}) {
    ResumableOnlyGcs server(other, true);
    EXPECT_FALSE(Create(server).ok());
    EXPECT_EQ(server.chunks(), 0);
  }
}

}  // namespace
}  // namespace assay::storage
