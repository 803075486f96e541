// The end of a resumable upload to GCS whose object differs from what was sent, or was published earlier.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/gcs/gcs_kind.h"
#include "storage/gcs/gcs_store.h"
#include "storage/gcs/upload_session.h"
#include "storage/lying_store.h"

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
  /// Every chunk is answered by 200 with the object.
  void set_early_end() { early_end_ = true; }
  /// Sessions say what they have made, whatever stands: from now on nothing does.
  void set_removed() { removed_ = true; }
  /// Chunks are not answered before the end.
  void set_silent() { silent_ = true; }
  ~ResumableOnlyGcs() { silent_ = false; }
  /// The sessions begun by now are answered by this.
  void set_stale_status(int status) {
    stale_status_ = status;
    stale_ = Newest(sessions_);
  }
  /// Set as soon as a session is begun, some time before it is answered.
  void set_cancel_of_begin(std::atomic<bool>& cancel) { cancel_of_begin_ = &cancel; }
  /// Those that were begun and not cancelled.
  int open_sessions() const { return sessions_ - cancelled_; }
  /// Every chunk but the last is answered by 308 with these ranges in turn.
  void set_committed(std::vector<std::string> ranges) { committed_ = std::move(ranges); }

 private:
  http::ServerResponse Answer(const http::RequestHead& head) {
    if (head.method == "POST" && taken_) {
      return http::TextResponse(412, R"({"error": {"errors": [{"reason": "conditionNotMet"}]}})");
    }
    http::ServerResponse answer = http::TextResponse(200, Object());
    while (head.method == "PUT" && silent_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (head.method == "POST") {
      answer.headers.Add("Location", url() + Newest(++sessions_));
      removed_ = false;
      if (cancel_of_begin_ != nullptr) {
        *cancel_of_begin_ = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
    } else if (head.method == "DELETE") {
      ++cancelled_;
    } else if (removed_ && head.method == "GET") {
      return http::TextResponse(404, R"({"error": {"errors": [{"reason": "notFound"}]}})");
    } else if (removed_ && head.method == "PUT") {
      return answer;
    } else if (head.method == "PUT" && head.target == stale_) {
      return http::TextResponse(stale_status_, "");
    } else if (head.method == "PUT") {
      ++chunks_;
      const std::string range(head.headers.Find("content-range").value_or(""));
      if (range.ends_with("/*") && !committed_.empty()) {
        answer = http::TextResponse(308, "");
        answer.headers.Add("Range", committed_[static_cast<size_t>(chunks_) % committed_.size()]);
      } else if (range.ends_with("/*") && !early_end_) {
        answer = http::TextResponse(308, "");
        answer.headers.Add("Range",
                           "bytes=0-" + range.substr(range.find('-') + 1, range.find('/') - range.find('-') - 1));
      }
    }
    return answer;
  }

  static std::string Newest(int sessions) { return "/session" + std::to_string(sessions); }

  std::string Object() const {
    return R"({"name": "k", "generation": "7", "metadata": {"assay-write-token": "mine"}, "size": ")" +
           std::to_string(standing_.size()) + R"(", "crc32c": ")" +
           ChecksumOf(ChecksumKind::kCrc32c, AsBytes(standing_)).Base64() + "\"}";
  }

  const std::string standing_;
  const bool taken_;
  bool early_end_ = false;
  bool removed_ = false;
  std::atomic<bool> silent_ = false;
  int stale_status_ = 0;
  std::string stale_;
  std::atomic<int> sessions_ = 0;
  std::atomic<int> cancelled_ = 0;
  std::atomic<bool>* cancel_of_begin_ = nullptr;
  std::vector<std::string> committed_;
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
    options.max_attempts = 2;
    const auto store = kGcsKind.open({"gs", "bucket", ""}, options);
    EXPECT_THAT(store.status(), IsOk());
    auto writer = (*store)->OpenWriter("k", {.condition = {WriteCondition::Kind::kAbsent, ""}, .write_token = "mine"});
    EXPECT_THAT(writer.status(), IsOk());
    // Smaller than a chunk, so that chunks are gathered.
    constexpr size_t kPieceBytes = 100 << 10;
    for (size_t at = 0; at < content_.size(); at += kPieceBytes) {
      if (const Status written = (*writer)->Write(AsBytes(content_).subspan(at, kPieceBytes)); !written.ok()) {
        return written;
      }
    }
    return (*writer)->Commit().status();
  }

  const std::string content_ = RandomContent(600 << 10, 1);
};

/// Remembers where an upload began.
class Recorder final : public UploadJournal {
 public:
  void OnBegin(const ResumableUpload& upload) override { begun = upload; }
  void OnPart(const UploadedPart&) override {}
  Status BeforePublish() override { return Status::Ok(); }
  bool remembers() const override { return true; }
  void OnGone() override { ++gone; }
  ResumableUpload begun;
  int gone = 0;
};

TEST_F(GcsPublishTest, WhatASessionMadeEarlierIsDoneOnlyWhereItStands) {
  ResumableOnlyGcs server(content_, false);
  StoreOptions options;
  options.endpoint = server.url();
  options.anonymous = true;
  options.part_bytes = 256 << 10;
  const auto store = *kGcsKind.open({"gs", "bucket", ""}, options);
  Recorder journal;
  WriteOptions write = {.condition = {WriteCondition::Kind::kAbsent, ""}, .write_token = "mine"};
  write.journal = &journal;
  const auto send = [&] {
    auto writer = store->OpenWriter("k", write);
    EXPECT_THAT(writer.status(), IsOk());
    EXPECT_THAT((*writer)->Write(AsBytes(content_)), IsOk());
    EXPECT_THAT((*writer)->Commit().status(), IsOk());
  };
  send();
  const ResumableUpload earlier = journal.begun;
  const int chunks = server.chunks();
  server.set_removed();
  write.resume = &earlier;
  send();
  EXPECT_TRUE(journal.begun.upload_id.ends_with("/session2")) << journal.begun.upload_id;
  EXPECT_EQ(server.chunks(), 2 * chunks);
}

TEST_F(GcsPublishTest, NobodyGoesOnWithASessionThatPublishedOtherContent) {
  std::string other = content_;
  other[5] ^= 1;
  ResumableOnlyGcs server(other, false);
  StoreOptions options;
  options.endpoint = server.url();
  options.anonymous = true;
  options.part_bytes = 256 << 10;
  const auto store = *kGcsKind.open({"gs", "bucket", ""}, options);
  Recorder journal;
  auto writer = store->OpenWriter("k", {.condition = {WriteCondition::Kind::kAbsent, ""}, .journal = &journal});
  ASSERT_THAT(writer.status(), IsOk());
  EXPECT_THAT((*writer)->Write(AsBytes(content_)), IsOk());
  EXPECT_EQ((*writer)->Commit().status().code(), ErrorCode::kIo);
  EXPECT_EQ(journal.gone, 1);
}

TEST_F(GcsPublishTest, AChunkThatIsNotAnsweredEndsWithTheDeadlineAndWithACancel) {
  ResumableOnlyGcs server(content_, false);
  server.set_silent();
  for (const bool by_deadline : {true, false}) {
    std::atomic<bool> cancel = false;
    StoreOptions options;
    options.endpoint = server.url();
    options.anonymous = true;
    options.part_bytes = 256 << 10;
    options.deadline_seconds = by_deadline ? 5 : 0;  // by which the upload has begun
    options.give_up_seconds = 0.1;                   // threads of the server wait
    options.stall_timeout_seconds = 600;             // that is not what ends it
    const auto store = *kGcsKind.open({"gs", "bucket", ""}, options);
    auto writer = store->OpenWriter(
        "k", {.condition = {WriteCondition::Kind::kAbsent, ""}, .cancel = by_deadline ? nullptr : &cancel});
    ASSERT_THAT(writer.status(), IsOk());
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cancel = true;
    });
    const Status status = (*writer)->Write(AsBytes(content_));
    later.join();
    EXPECT_EQ(status.code(), by_deadline ? ErrorCode::kIo : ErrorCode::kAborted) << status.message();
    EXPECT_TRUE(!by_deadline || status.message().find("deadline") != std::string::npos) << status.message();
  }
}

TEST_F(GcsPublishTest, ASessionThatIsCancelledAsItBeginsIsNotLeft) {
  ResumableOnlyGcs server(content_, false);
  std::atomic<bool> cancel = false;
  server.set_cancel_of_begin(cancel);
  StoreOptions options;
  options.endpoint = server.url();
  options.anonymous = true;
  options.part_bytes = 256 << 10;
  const auto store = *kGcsKind.open({"gs", "bucket", ""}, options);
  {
    const auto writer = *store->OpenWriter("k", {.condition = {WriteCondition::Kind::kAbsent, ""}, .cancel = &cancel});
    const Status status = writer->Write(AsBytes(content_));
    EXPECT_EQ(status.code(), ErrorCode::kAborted) << status.message();
  }
  EXPECT_EQ(server.chunks(), 0);
  EXPECT_EQ(server.open_sessions(), 0);
}

TEST_F(GcsPublishTest, ASessionThatIsNotBelievedGivesWayToAnother) {
  for (const int status : {401, 403}) {
    ResumableOnlyGcs server(content_, false);
    StoreOptions options;
    options.endpoint = server.url();
    options.anonymous = true;
    options.part_bytes = 256 << 10;
    options.max_attempts = 2;
    const auto store = *kGcsKind.open({"gs", "bucket", ""}, options);
    Recorder journal;
    WriteOptions write = {.condition = {WriteCondition::Kind::kAbsent, ""}, .write_token = "mine"};
    write.journal = &journal;
    const auto send = [&] {
      auto writer = store->OpenWriter("k", write);
      EXPECT_THAT(writer.status(), IsOk());
      EXPECT_THAT((*writer)->Write(AsBytes(content_)), IsOk()) << status;
      EXPECT_THAT((*writer)->Commit().status(), IsOk()) << status;
    };
    send();
    const ResumableUpload earlier = journal.begun;
    EXPECT_TRUE(earlier.upload_id.ends_with("/session1")) << earlier.upload_id;
    server.set_stale_status(status);
    write.resume = &earlier;
    send();
    EXPECT_TRUE(journal.begun.upload_id.ends_with("/session2")) << journal.begun.upload_id;
  }
}

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

TEST_F(GcsPublishTest, AnObjectBeforeTheLastChunkIsAnErrorAndIsNamed) {
  ResumableOnlyGcs server(content_, false);
  server.set_early_end();
  const Status status = Create(server);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr("262144 bytes were sent and more were to come"));
  EXPECT_THAT(status.message(), HasSubstr("there stands now: 614400 bytes"));
  EXPECT_EQ(server.chunks(), 1);
}

TEST_F(GcsPublishTest, AnObjectOfAnotherSizeIsAnError) {
  ResumableOnlyGcs server(content_ + "x", false);
  EXPECT_THAT(Create(server).message(), HasSubstr("614400 bytes were sent, the store says that it has made an object"));
}

TEST_F(GcsPublishTest, AServiceThatHasMoreThanWasSentIsNotBelieved) {
  ResumableOnlyGcs server(content_, false);
  server.set_committed({"bytes=0-9223372036854775807"});
  EXPECT_THAT(Create(server).message(), HasSubstr("the store has 9223372036854775807 bytes of it"));
}

TEST_F(GcsPublishTest, AServiceThatTakesAndDropsInTurnsIsNotFollowedForEver) {
  ResumableOnlyGcs server(content_, false);
  server.set_committed({"", "bytes=0-99"});
  EXPECT_THAT(Create(server).message(), HasSubstr("the store keeps none of the bytes sent"));
  EXPECT_LT(server.chunks(), 10);
}

TEST_F(GcsPublishTest, ContentThatChangesWhileItIsSentIsNotWhatWasExpected) {
  std::string content = content_;
  std::string changed = content_;
  changed.back() ^= 1;
  ResumableOnlyGcs server(changed, false);
  StoreOptions options;
  options.endpoint = server.url();
  options.anonymous = true;
  options.part_bytes = 256 << 10;
  const auto store = kGcsKind.open({"gs", "bucket", ""}, options);
  ASSERT_THAT(store.status(), IsOk());
  const Bytes bytes = AsBytes(content);
  const auto writer = (*store)->OpenWriter("k", {.condition = {WriteCondition::Kind::kAbsent, ""},
                                                 .expected = ChecksumOf(ChecksumKind::kCrc32c, bytes),
                                                 .progress = [&](int64_t) { content.back() = changed.back(); }});
  ASSERT_THAT(writer.status(), IsOk());
  EXPECT_THAT((*writer)->Write(bytes), IsOk());
  const auto written = (*writer)->Commit();
  EXPECT_THAT(written.status().message(), HasSubstr("cannot write gs://bucket/k: the content is damaged"));
}

/// Takes parts of "k" and does not name the object that it makes of them.
class NamelessGcs {
 public:
  explicit NamelessGcs(std::string standing) : standing_(std::move(standing)) {}

  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    if (head.method == "PUT") {
      http::ServerResponse part = http::TextResponse(200, "");
      part.headers.Add("ETag", "\"part\"");
      part.headers.Add("x-goog-hash", "crc32c=" + Crc32cOf(body));
      return part;
    }
    if (head.method == "POST" && head.target.find("uploads") != std::string::npos) {
      token_ = head.headers.Find("x-goog-meta-assay-write-token").value_or("");
      return http::TextResponse(
          200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
    }
    if (head.method == "POST") {
      return http::TextResponse(200, "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>");
    }
    return http::TextResponse(stat_status, stat_status == 200 ? Object() : "");
  }

  int stat_status = 200;
  bool another_wrote = false;

 private:
  static std::string Crc32cOf(std::string_view text) {
    return ChecksumOf(ChecksumKind::kCrc32c, std::as_bytes(std::span(text))).Base64();
  }
  std::string Object() const {
    return R"({"name":"k","generation":"7","metadata":{"assay-write-token":")" + (another_wrote ? "theirs" : token_) +
           R"("},"size":")" + std::to_string(standing_.size()) + R"(","crc32c":")" + Crc32cOf(standing_) + "\"}";
  }

  const std::string standing_;
  std::string token_;
};

Result<ObjectInfo> WriteInParts(NamelessGcs& gcs, const std::string& content) {
  StoreOptions options;
  options.part_bytes = 5 << 20;
  LyingStore lying(
      "gs://b/", [&](const http::RequestHead& head, std::string_view body) { return gcs.Answer(head, body); }, options);
  const Bytes buffers[] = {AsBytes(content)};
  return lying.store().Write("k", buffers, {});
}

TEST(GcsParts, WhatStandsIsComparedWhereTheAnswerNamesNothing) {
  const std::string content = RandomContent(6 << 20, 2);
  NamelessGcs same(content);
  const auto written = WriteInParts(same, content);
  ASSERT_THAT(written.status(), IsOk());
  EXPECT_EQ(written->etag, "7");
  std::string other = content;
  other[5] ^= 1;
  NamelessGcs changed(other);
  EXPECT_THAT(WriteInParts(changed, content).status().message(), HasSubstr("published other content"));
  NamelessGcs longer(content + "x");
  EXPECT_THAT(WriteInParts(longer, content).status().message(), HasSubstr("published other content"));
}

TEST(GcsParts, WhatAnotherWroteSinceIsNoDamage) {
  const std::string content = RandomContent(6 << 20, 2);
  NamelessGcs gcs("other");
  gcs.another_wrote = true;
  const auto written = WriteInParts(gcs, content);
  ASSERT_THAT(written.status(), IsOk());
  EXPECT_EQ(written->etag, "");
  EXPECT_EQ(written->size, 6 << 20);
}

TEST(GcsParts, WhatWasPublishedAndCannotBeAskedForIsWritten) {
  const std::string content = RandomContent(6 << 20, 2);
  for (const int status : {403, 404, 500}) {
    NamelessGcs gcs(content);
    gcs.stat_status = status;
    const auto written = WriteInParts(gcs, content);
    ASSERT_THAT(written.status(), IsOk()) << status;
    EXPECT_EQ(written->etag, "");
  }
}

TEST(UploadSession, GoesToAnAddressAsSafeAsTheEndpoint) {
  EXPECT_TRUE(IsSessionOf("https://storage.googleapis.com", "https://upload.example/session"));
  EXPECT_TRUE(IsSessionOf("http://localhost:4443", "http://0.0.0.0:4443/session"));
  EXPECT_FALSE(IsSessionOf("https://storage.googleapis.com", "http://storage.googleapis.com/session"));
  EXPECT_FALSE(IsSessionOf("http://localhost:4443", "/session"));
  EXPECT_FALSE(IsSessionOf("https://storage.googleapis.com", ""));
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
