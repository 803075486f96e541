// What is read of web servers that are good, bad and gone.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/text.h"
#include "storage/conformance.h"
#include "storage/open.h"
#include "storage/web/scripted_web.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<ObjectStore> Open(const std::string& url, const std::string& mirrors = "") {
  StoreOptions options;
  options.part_bytes = kMiB;
  options.max_attempts = 3;
  options.own["mirrors"] = mirrors;
  auto opened = OpenStore(url + "/data/", options);
  EXPECT_THAT(opened.status(), IsOk());
  return opened->store;
}

Result<std::string> Get(ObjectStore& store, const std::string& key, const ReadOptions& options = {}) {
  std::string content;
  const auto allocate = [&](int64_t size) {
    content.assign(static_cast<size_t>(size), '?');
    return std::as_writable_bytes(std::span(content));
  };
  ASSAY_RETURN_IF_ERROR(store.ReadWhole(key, allocate, options).status());
  return content;
}

Result<std::string> GetPiece(ObjectStore& store, const std::string& key, int64_t offset, size_t bytes,
                             const ReadOptions& options = {}) {
  std::string content(bytes, '?');
  const ReadPiece piece = {offset, std::as_writable_bytes(std::span(content))};
  ASSAY_RETURN_IF_ERROR(store.Read(key, std::span(&piece, 1), options).status());
  return content;
}

/// Equal, without megabytes in the report.
#define EXPECT_CONTENT(result, content)         \
  do {                                          \
    const Result<std::string> got = (result);   \
    EXPECT_THAT(got.status(), IsOk());          \
    EXPECT_TRUE(got.ok() && *got == (content)); \
  } while (false)

TEST(WebStore, ReadsInRangesOfOneVersion) {
  const std::string content = RandomContent(5 * kMiB + 17, 1);
  ScriptedWeb server(content);
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "a%20b.bin?x=1"), content);
  EXPECT_CONTENT(GetPiece(*store, "a%20b.bin?x=1", 3'000'000, 10), content.substr(3'000'000, 10));
  EXPECT_EQ(server.CountAsked("GET /data/a%20b.bin?x=1 bytes="), 7);
  const auto info = store->Stat("a%20b.bin?x=1");
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_EQ((*info)->etag, "v1");
  EXPECT_EQ((*info)->size, static_cast<int64_t>(content.size()));
  server.Change(content, "\"v2\"", "Sat, 31 Jan 2026 13:00:00 GMT");
  EXPECT_THAT(Get(*store, "a%20b.bin?x=1", {.if_match = "v1"}).status(), HasCode(ErrorCode::kFailedPrecondition));
}

TEST(WebStore, AVersionIsKnownByItsTimeWhereThereIsNoEtag) {
  const std::string content = RandomContent(3 * kMiB, 2);
  ScriptedWeb server(content, {.etag = ""});
  const auto store = Open(server.url());
  const auto info = store->Stat("x");
  ASSERT_THAT(info.status(), IsOk());
  EXPECT_CONTENT(Get(*store, "x", {.if_match = (*info)->etag}), content);
  server.Change(RandomContent(3 * kMiB, 3), "", "Sat, 31 Jan 2026 13:00:00 GMT");
  EXPECT_THAT(Get(*store, "x", {.if_match = (*info)->etag}).status(), HasCode(ErrorCode::kFailedPrecondition));
}

// A weak etag is no condition for a range (RFC 9110 section 13.1.1); what came is compared.
TEST(WebStore, AWeakEtagIsCompared) {
  const std::string content = RandomContent(3 * kMiB, 4);
  for (const std::string modified : {"", "Sat, 31 Jan 2026 12:00:00 GMT"}) {
    std::atomic<int> gets = 0;
    ScriptedWeb server(content, {.etag = "W/\"1\"", .modified = modified}, [&](const auto& head, auto& response) {
      if (head.method == "GET" && ++gets == 2) {
        response.headers.Set("ETag", "W/\"2\"");
      }
    });
    const auto store = Open(server.url());
    EXPECT_THAT(Get(*store, "x").status(), HasCode(ErrorCode::kFailedPrecondition));
    EXPECT_CONTENT(Get(*store, "x"), content);
  }
}

// It may be written again within the second that its time names.
TEST(WebStore, ATimeOfThisSecondTellsNoVersion) {
  const std::string content = RandomContent(3 * kMiB, 17);
  ScriptedWeb server(content, {.etag = ""}, [](const auto&, auto& response) {
    response.headers.Add("Date", response.headers.Find("last-modified").value_or(""));
  });
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_EQ(server.asked().back(), "GET /data/x -");
}

TEST(WebStore, AServerWithoutRangesIsReadInOneRequest) {
  const std::string content = RandomContent(5 * kMiB + 1, 5);
  ScriptedWeb server(content, {.has_ranges = false});
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_EQ(server.CountAsked("GET"), 2);  // the first shows it
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_EQ(server.CountAsked("GET"), 3);
}

TEST(WebStore, PiecesOfAServerWithoutRangesCostOneRequestTogether) {
  const std::string content = RandomContent(5 * kMiB + 1, 6);
  ScriptedWeb server(content, {.has_ranges = false});
  const auto store = Open(server.url());
  for (const int64_t offset : {int64_t{4} * kMiB, int64_t{7}, int64_t{0}}) {
    EXPECT_CONTENT(GetPiece(*store, "x", offset, 1000), content.substr(static_cast<size_t>(offset), 1000));
  }
  EXPECT_EQ(server.CountAsked("GET"), 2);
  EXPECT_THAT(GetPiece(*store, "x", static_cast<int64_t>(content.size()) - 1, 2).status(),
              HasCode(ErrorCode::kInvalidArgument));
  const std::string other = RandomContent(5 * kMiB + 1, 7);
  server.Change(other, "\"v2\"", "Sat, 31 Jan 2026 13:00:00 GMT");
  EXPECT_THAT(GetPiece(*store, "x", 7, 1000, {.if_match = "v1"}).status(), HasCode(ErrorCode::kOk));
  EXPECT_CONTENT(GetPiece(*store, "x", 7, 1000), other.substr(7, 1000));
  std::string first(10, '?');
  std::string second(10, '?');
  const ObjectRead reads[] = {{"x", {100, std::as_writable_bytes(std::span(first))}},
                              {"x", {200, std::as_writable_bytes(std::span(second))}}};
  EXPECT_THAT(store->ReadMany(reads, {}), Each(IsOk()));
  EXPECT_EQ(first + second, other.substr(100, 10) + other.substr(200, 10));
}

TEST(WebStore, PiecesThatAreReadTogetherOfAServerWithoutRangesCostOneRequest) {
  const std::string content = RandomContent(2 * kMiB, 18);
  ScriptedWeb server(content, {.has_ranges = false});
  const auto store = Open(server.url());
  std::vector<std::string> pieces(16, std::string(100'000, '?'));
  std::vector<ObjectRead> reads;
  for (std::string& piece : pieces) {
    const auto offset = static_cast<int64_t>(piece.size() * reads.size());
    reads.push_back({"x", {offset, std::as_writable_bytes(std::span(piece))}});
  }
  EXPECT_THAT(store->ReadMany(reads, {}), Each(IsOk()));
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i], content.substr(i * pieces[i].size(), pieces[i].size())) << i;
  }
  EXPECT_EQ(server.CountAsked("GET /data/x -"), 1);
}

// Ranges of which nothing says that they are of one version are not put together.
TEST(WebStore, WhatHasNoVersionIsReadInOneRequest) {
  const std::string content = RandomContent(3 * kMiB, 8);
  ScriptedWeb server(content, {.etag = "", .modified = ""});
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_CONTENT(GetPiece(*store, "x", 1'000'000, 10), content.substr(1'000'000, 10));
  EXPECT_EQ(server.asked().back(), "GET /data/x -");
}

TEST(WebStore, HeadMayBeRefused) {
  for (const bool has_ranges : {true, false}) {
    const std::string content = RandomContent(2 * kMiB, 9);
    ScriptedWeb server(content, {.has_ranges = has_ranges, .has_head = false});
    const auto store = Open(server.url());
    const auto info = store->Stat("x");
    ASSERT_THAT(info.status(), IsOk());
    ASSERT_TRUE(info->has_value());
    EXPECT_EQ((*info)->size, 2 * kMiB);
    EXPECT_CONTENT(Get(*store, "x"), content);
  }
  ScriptedWeb empty("", {.has_head = false});
  const auto store = Open(empty.url());
  EXPECT_CONTENT(Get(*store, "x"), "");
  EXPECT_EQ((*store->Stat("x"))->size, 0);
}

TEST(WebStore, WhatIsNotThereIsMissing) {
  for (const int status : {404, 410}) {
    ScriptedWeb server("x", {}, [&](const auto&, auto& response) { response.status = status; });
    const auto store = Open(server.url());
    const auto info = store->Stat("x");
    ASSERT_THAT(info.status(), IsOk());
    EXPECT_FALSE(info->has_value());
    EXPECT_THAT(Get(*store, "x").status(), HasCode(ErrorCode::kNotFound));
  }
}

TEST(WebStore, WhoseSizeIsNotToldIsRefused) {
  ScriptedWeb server("hello", {.has_ranges = false}, [](const http::RequestHead&, http::ServerResponse& response) {
    response.body.clear();
    response.head_content_length.reset();
    response.stream = std::make_shared<http::ResponseStream>();
    response.stream->Write("hello");
    response.stream->Close();
  });
  const auto store = Open(server.url());
  const Status status = Get(*store, "x").status();
  EXPECT_THAT(status, HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(status.message(), HasSubstr("how many bytes"));
}

TEST(WebStore, RedirectsAreFollowedAndAskedForAgainWhenTheyEnd) {
  const std::string content = RandomContent(4 * kMiB, 10);
  std::atomic<int> ticket = 1;
  ScriptedWeb server(content, {}, [&](const http::RequestHead& head, http::ServerResponse& response) {
    const std::string now = "/files/x?ticket=" + std::to_string(ticket);
    if (head.target == "/data/x") {
      response = http::TextResponse(302, "");
      response.headers.Add("Location", now);
    } else if (head.target != now) {
      response = http::TextResponse(403, "");
    }
  });
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_EQ(server.CountAsked("GET /data/x"), 1);
  ticket = 2;
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_EQ(server.CountAsked("GET /data/x"), 2);
}

TEST(WebStore, ARedirectIsOfTheVersionThatItLedTo) {
  std::atomic<int> now = 1;
  ScriptedWeb server("content", {}, [&](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.target == "/data/x") {
      response = http::TextResponse(302, "");
      response.headers.Add("Location", "/files/v" + std::to_string(now));
    } else {
      response.headers.Set("ETag", '"' + head.target.substr(head.target.rfind('/') + 1) + '"');
    }
  });
  const auto store = Open(server.url());
  EXPECT_EQ((*store->Stat("x"))->etag, "v1");
  EXPECT_CONTENT(GetPiece(*store, "x", 0, 7, {.if_match = "v1"}), "content");
  EXPECT_EQ(server.CountAsked("GET /data/x"), 0) << "where it led to";
  now = 2;
  EXPECT_EQ((*store->Stat("x"))->etag, "v2");
  EXPECT_CONTENT(GetPiece(*store, "x", 0, 7), "content");
}

TEST(WebStore, RedirectsWithoutEndEnd) {
  std::atomic<int> hop = 0;
  ScriptedWeb server("x", {}, [&](const http::RequestHead&, http::ServerResponse& response) {
    response = http::TextResponse(307, "");
    response.headers.Add("Location", "/hop/" + std::to_string(++hop));
  });
  const auto store = Open(server.url());
  EXPECT_THAT(Get(*store, "x").status().message(), HasSubstr("more than 10 redirects"));
  EXPECT_LT(hop, 40);
}

TEST(WebStore, AFailureInMidReadIsMended) {
  const std::string content = RandomContent(6 * kMiB, 11);
  std::atomic<int> gets = 0;
  ScriptedWeb server(content, {}, [&](const http::RequestHead& head, http::ServerResponse& response) {
    const int get = head.method == "GET" ? ++gets : 0;
    if (get == 2) {
      response.cut = http::CutKind::kReset;
      response.cut_after_bytes = 1000;
    } else if (get == 3) {
      response = http::TextResponse(503, "");
    }
  });
  EXPECT_CONTENT(Get(*Open(server.url()), "x"), content);
}

TEST(WebStore, AMirrorTakesOverInMidRead) {
  const std::string content = RandomContent(6 * kMiB, 12);
  std::atomic<int> gets = 0;
  // Its etags are its own, as those of most servers; its times are the file's.
  ScriptedWeb mirror(content, {.etag = "\"other\""});
  ScriptedWeb first(content, {}, [&](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "GET" && ++gets > 2) {
      response = http::TextResponse(500, "");
    }
  });
  const auto store = Open(first.url(), mirror.url() + "/pub/data");
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_GT(mirror.CountAsked("GET /pub/data/x bytes="), 0);
}

TEST(WebStore, AMirrorWithAnotherVersionIsPassedOver) {
  const std::string content = RandomContent(3 * kMiB, 13);
  std::atomic<int> gets = 0;
  ScriptedWeb first(content, {}, [&](const http::RequestHead& head, http::ServerResponse& response) {
    if (head.method == "GET" && ++gets > 1) {
      response = http::TextResponse(404, "");
    }
  });
  ScriptedWeb older(RandomContent(3 * kMiB, 14), {.etag = "\"v0\"", .modified = "Fri, 30 Jan 2026 12:00:00 GMT"});
  ScriptedWeb same(content);
  EXPECT_CONTENT(Get(*Open(first.url(), older.url() + "/," + same.url()), "x"), content);
  gets = 0;
  const Status status = Get(*Open(first.url(), older.url()), "x").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
}

TEST(WebStore, AServerThatIsGoneIsPassedOver) {
  const std::string content = RandomContent(2 * kMiB, 15);
  ScriptedWeb mirror(content);
  const auto store = Open("http://127.0.0.1:1", mirror.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  EXPECT_TRUE((*store->Stat("y")).has_value());
}

// One that cannot be asked may have what the others have not.
TEST(WebStore, MissingIsOnlyWhatNoMirrorHas) {
  ScriptedWeb without("x", {}, [](const auto&, auto& response) { response = http::TextResponse(404, ""); });
  EXPECT_THAT(Open("http://127.0.0.1:1", without.url())->Stat("x").status(), HasCode(ErrorCode::kIo));
  const auto absent = Open(without.url(), without.url() + "/other")->Stat("x");
  ASSERT_THAT(absent.status(), IsOk());
  EXPECT_FALSE(absent->has_value());
}

TEST(WebStore, AChecksumThatIsToldIsCompared) {
  const std::string content = RandomContent(3 * kMiB, 16);
  std::atomic<bool> damaged = false;
  ScriptedWeb server(content, {}, [&](const http::RequestHead&, http::ServerResponse& response) {
    const std::string& of = damaged ? "other" : content;
    response.headers.Add("x-goog-hash", "crc32c=" + ChecksumOf(ChecksumKind::kCrc32c, AsBytes(of)).Base64());
  });
  const auto store = Open(server.url());
  EXPECT_CONTENT(Get(*store, "x"), content);
  damaged = true;
  EXPECT_THAT(Get(*store, "x").status().message(), HasSubstr("damaged"));
}

TEST(WebStore, IsReadOnly) {
  ScriptedWeb server("x");
  const auto store = Open(server.url());
  const Bytes bytes = AsBytes("y");
  const ObjectWrite write = {"x", bytes};
  const std::string key = "x";
  EXPECT_THAT(store->Write("x", std::span(&bytes, 1), {}).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->OpenWriter("x", {}).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->WriteMany(std::span(&write, 1), {}), Each(HasCode(ErrorCode::kUnsupported)));
  EXPECT_THAT(store->Remove("x"), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->RemoveMany(std::span(&key, 1)), Each(HasCode(ErrorCode::kUnsupported)));
  EXPECT_THAT(store->Copy("x", "y", {}).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->Compose(std::span(&key, 1), "y", {}).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->Presign("x", "GET", 1).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->List({}).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(store->ListUploads("").status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_TRUE(server.asked().empty());
}

}  // namespace
}  // namespace assay::storage
