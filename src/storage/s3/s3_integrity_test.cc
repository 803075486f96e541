// Content that something between here and the store changes: a whole read is compared with what the store records, and
// a publish with what was sent.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/auth/anonymous_signer.h"
#include "storage/s3/s3_store.h"
#include "storage/s3/scripted_s3.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr char kChecksumHeader[] = "x-amz-checksum-crc64nvme";

bool IsRead(const http::RequestHead& head) {
  return head.method == "GET";
}

/// As some of S3's kin answer to every range.
void DropChecksum(http::ServerResponse& response) {
  response.headers.Remove(kChecksumHeader);
}

void FlipAByte(http::ServerResponse& response) {
  std::string body;
  for (const http::BodyPiece& piece : response.body) {
    body.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  }
  body[body.size() / 2] ^= 1;
  response.body = {http::BodyPiece::Text(std::move(body))};
}

class S3IntegrityTest : public testing::Test {
 protected:
  void Open(const ScriptedS3& server) {
    StoreOptions options;
    options.endpoint = server.url();
    options.part_bytes = kMiB;
    options.max_attempts = 2;
    options.own["conditional_writes"] = "yes";  // this server is asked for nothing else
    const auto address = S3Address::Make("bucket", options.endpoint, "us-east-1");
    ASSERT_THAT(address.status(), IsOk());
    store_ = std::make_unique<S3Store>(std::make_unique<S3Dialect>(*address, "us-east-1", options),
                                       std::make_unique<AnonymousSigner>(), options);
  }

  MutableBytes Memory(int64_t size) {
    memory_.assign(static_cast<size_t>(size), '?');
    return std::as_writable_bytes(std::span(memory_));
  }

  /// The status of each way to read the object whole.
  std::vector<Status> ReadAllWays(int64_t size) {
    const auto allocate = [this](int64_t bytes) { return Memory(bytes); };
    std::vector<Status> statuses = {store_->ReadWhole("k", allocate, {}).status()};
    const ReadPiece piece = {0, Memory(size)};
    statuses.push_back(store_->Read("k", std::span(&piece, 1), {}).status());
    const ObjectRead many[] = {{"k", piece}};
    statuses.push_back(store_->ReadMany(many, {}).front());
    return statuses;
  }

  Status Create(const std::string& content) {
    const Bytes buffers[] = {AsBytes(content)};
    return store_->Write("k", buffers, {.condition = {WriteCondition::Kind::kAbsent, ""}}).status();
  }

  std::unique_ptr<S3Store> store_;
  std::string memory_;
};

TEST_F(S3IntegrityTest, AWholeReadIsComparedThoughTheRangeNamesNoChecksum) {
  for (const int64_t size : {int64_t{5}, kMiB, 3 * kMiB}) {
    ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
      if (IsRead(head)) {
        DropChecksum(response);
        FlipAByte(response);
      }
    });
    server.SetContent(RandomContent(size, 1));
    Open(server);
    EXPECT_THAT(ReadAllWays(size), Each(HasCode(ErrorCode::kIo))) << size;
  }
}

TEST_F(S3IntegrityTest, AByteThatWasFlippedOnceIsReadAgain) {
  std::atomic<int> reads = 0;
  ScriptedS3 server([&reads](const http::RequestHead& head, http::ServerResponse& response) {
    if (IsRead(head)) {
      DropChecksum(response);
      if (reads++ % 2 == 0) {
        FlipAByte(response);
      }
    }
  });
  const std::string content = RandomContent(1000, 1);
  server.SetContent(content);
  Open(server);
  EXPECT_THAT(ReadAllWays(1000), Each(IsOk()));
  EXPECT_TRUE(memory_ == content);
}

// The first range comes as if it were the whole object, then damaged: no checksum may be left out on the word of an
// answer that was not taken.
TEST_F(S3IntegrityTest, AnAnswerThatWasNotTakenDoesNotSayHowLongTheObjectIs) {
  std::atomic<int> firsts = 0;
  ScriptedS3 server([&firsts](const http::RequestHead& head, http::ServerResponse& response) {
    if (!IsRead(head)) {
      return;
    }
    DropChecksum(response);
    if (head.headers.Find("range").value_or("").starts_with("bytes=0-")) {
      const int attempt = firsts++ % 2;
      if (attempt == 0) {
        response.status = 200;
        response.headers.Add(kChecksumHeader, "AAAAAAAAAAA=");
      } else {
        FlipAByte(response);
      }
    }
  });
  server.SetContent(RandomContent(3 * kMiB, 1));
  Open(server);
  EXPECT_THAT(ReadAllWays(3 * kMiB), Each(HasCode(ErrorCode::kIo)));
}

TEST_F(S3IntegrityTest, AnswersThatDifferInTheObjectsSizeAreNoObject) {
  ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
    if (IsRead(head) && head.headers.Find("range").value_or("").starts_with("bytes=0-")) {
      response.headers.Set("Content-Range", "bytes 0-1048575/4000000");
      FlipAByte(response);
    }
  });
  server.SetContent(RandomContent(3 * kMiB, 1));
  Open(server);
  EXPECT_THAT(ReadAllWays(3 * kMiB), Each(Not(IsOk())));
}

/// Says that the object is shorter than it is, whole: what changes the length of an answer changes what tells it.
void CutShort(http::ServerResponse& response, size_t bytes) {
  std::string body(reinterpret_cast<const char*>(response.body.front().bytes.data()), bytes);
  response.status = 200;
  response.headers.Remove("Content-Range");
  response.body = {http::BodyPiece::Text(std::move(body))};
}

TEST_F(S3IntegrityTest, AnAnswerThatWasCutIsNotTheObjectThatTheStoreTellsOf) {
  ScriptedS3 server([](const http::RequestHead& head, http::ServerResponse& response) {
    DropChecksum(response);
    if (IsRead(head)) {
      CutShort(response, 500);
    }
  });
  server.SetContent(RandomContent(1000, 1));
  Open(server);
  EXPECT_THAT(ReadAllWays(500), Each(Not(IsOk())));
}

TEST_F(S3IntegrityTest, AnObjectThatHasAnotherSizeThanTheCallerKnowsIsAnError) {
  std::atomic<int> reads = 0;
  ScriptedS3 server([&reads](const http::RequestHead& head, http::ServerResponse& response) {
    DropChecksum(response);
    reads += IsRead(head);
    if (!IsRead(head)) {
      response.head_content_length = 500;
    }
  });
  server.SetContent(RandomContent(1000, 1));
  Open(server);
  const auto known = store_->Stat("k");
  ASSERT_TRUE(known.ok() && known->has_value());
  const ReadPiece piece = {0, Memory((*known)->size)};
  const ReadOptions options = {.if_match = (*known)->etag, .known = &**known};
  EXPECT_THAT(store_->Read("k", std::span(&piece, 1), options).status(), HasCode(ErrorCode::kIo));
  EXPECT_EQ(reads, 1);
}

TEST_F(S3IntegrityTest, ManyReadsTellEachByteOnceAndKeepToTheVersion) {
  std::atomic<int> reads = 0;
  ScriptedS3 server([&reads](const http::RequestHead& head, http::ServerResponse& response) {
    if (IsRead(head)) {
      DropChecksum(response);
      if (reads++ == 0) {
        FlipAByte(response);
      }
    }
  });
  server.SetContent(RandomContent(1000, 1));
  Open(server);
  const ObjectRead many[] = {{"k", {0, Memory(1000)}}};
  int64_t moved = 0;
  ReadOptions options = {.progress = [&moved](int64_t bytes) { moved += bytes; }};
  EXPECT_THAT(store_->ReadMany(many, options), Each(IsOk()));
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(moved, 1000);
  options.if_match = "another";
  EXPECT_THAT(store_->ReadMany(many, options), Each(HasCode(ErrorCode::kFailedPrecondition)));
}

TEST_F(S3IntegrityTest, NothingIsAskedWhereTheRangeNamesTheChecksum) {
  std::atomic<int> requests = 0;
  ScriptedS3 server([&requests](const http::RequestHead&, http::ServerResponse&) { ++requests; });
  server.SetContent("content");
  Open(server);
  EXPECT_THAT(ReadAllWays(7), Each(IsOk()));
  EXPECT_EQ(requests, 3);
}

TEST_F(S3IntegrityTest, WhatTheCallerKnowsIsNotAskedAgain) {
  std::atomic<int> heads = 0;
  std::atomic<bool> flip = false;
  ScriptedS3 server([&](const http::RequestHead& head, http::ServerResponse& response) {
    heads += head.method == "HEAD";
    if (IsRead(head)) {
      DropChecksum(response);
    }
    if (IsRead(head) && flip) {
      FlipAByte(response);
    }
  });
  server.SetContent("content");
  Open(server);
  const auto known = store_->Stat("k");
  ASSERT_TRUE(known.ok() && known->has_value());
  const ReadOptions options = {.if_match = (*known)->etag, .known = &**known};
  const auto allocate = [this](int64_t bytes) { return Memory(bytes); };
  EXPECT_THAT(store_->ReadWhole("k", allocate, options).status(), IsOk());
  flip = true;
  EXPECT_THAT(store_->ReadWhole("k", allocate, options).status(), HasCode(ErrorCode::kIo));
  EXPECT_EQ(heads, 1);
}

TEST_F(S3IntegrityTest, AChecksumOfAnotherKindIsComparedByAnotherPass) {
  for (const bool damaged : {false, true}) {
    ScriptedS3 server([damaged](const http::RequestHead& head, http::ServerResponse& response) {
      DropChecksum(response);
      if (!IsRead(head)) {
        const std::string sum = ChecksumOf(ChecksumKind::kSha256, AsBytes(RandomContent(3 * kMiB, 1))).Base64();
        response.headers.Add("x-amz-checksum-sha256", sum);
      } else if (damaged) {
        FlipAByte(response);
      }
    });
    server.SetContent(RandomContent(3 * kMiB, 1));
    Open(server);
    EXPECT_THAT(ReadAllWays(3 * kMiB), Each(damaged ? HasCode(ErrorCode::kIo) : IsOk()));
  }
}

TEST_F(S3IntegrityTest, AnObjectThatWasReplacedWhileItWasReadIsReadAgain) {
  std::atomic<int> heads = 0;
  ScriptedS3 server([&heads](const http::RequestHead& head, http::ServerResponse& response) {
    if (IsRead(head)) {
      DropChecksum(response);
      response.headers.Set("ETag", heads == 0 ? "\"old\"" : "\"e\"");
    } else {
      ++heads;
    }
  });
  server.SetContent("content");
  Open(server);
  EXPECT_THAT(ReadAllWays(7), Each(IsOk()));
  EXPECT_THAT(memory_, "content");
}

TEST_F(S3IntegrityTest, APublishThatDiffersIsAnErrorAndNamesWhatStandsThere) {
  const Checksum standing = ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes("iello"));
  std::atomic<int> puts = 0;
  ScriptedS3* store = nullptr;
  ScriptedS3 server([&](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "PUT") {
      ++puts;
      store->SetContent("iello");
      response.headers.Add(kChecksumHeader, standing.Base64());
    }
  });
  store = &server;
  Open(server);
  const Status status = Create("hello");
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_THAT(status.message(), HasSubstr("s3://bucket/k: the store published other content"));
  EXPECT_THAT(status.message(), HasSubstr("there stands now: 5 bytes, crc64nvme " + standing.Hex() + ", etag e"));
  EXPECT_EQ(puts, 1);
}

TEST_F(S3IntegrityTest, APublishThatDiffersAndWhoseAnswerWasLostIsAnErrorToo) {
  for (const std::string other : {"iello", "a longer one"}) {
    std::atomic<int> puts = 0;
    ScriptedS3* store = nullptr;
    ScriptedS3 server([&](const http::RequestHead& head, http::ServerResponse& response) {
      if (head.method == "PUT" && puts++ == 0) {
        store->SetContent(other);
        response.cut = http::CutKind::kReset;
      }
    });
    store = &server;
    Open(server);
    const Status status = Create("hello");
    EXPECT_EQ(status.code(), ErrorCode::kIo);
    EXPECT_THAT(status.message(), HasSubstr("there stands now: " + std::to_string(other.size()) + " bytes"));
    EXPECT_EQ(puts, 2);
  }
}

}  // namespace
}  // namespace assay::storage
