// Objects whose content is no longer what the store records of them, or comes as something else.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "objectserver/server.h"
#include "objectserver/store.h"
#include "storage/conformance.h"
#include "storage/lying_store.h"
#include "storage/open.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

using testing::Each;
using testing::Not;

constexpr char kBucket[] = "test";

class DamagedObjectTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    objectserver::ServeOptions serve;
    serve.buckets = {kBucket};
    auto server = objectserver::ObjectServer::Start(serve);
    ASSERT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options;
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.part_bytes = 5 * kMiB;
    auto opened = OpenStore(GetParam(), options);
    ASSERT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }

  /// An object with the bytes of one and all else of another.
  void PutDamaged(const std::string& key, int64_t size) {
    Put(key, RandomContent(size, 1));
    Put("another", RandomContent(size, 2));
    objectserver::ObjectRecord record = *server_->store().Find(kBucket, key).object;
    record.blob = server_->store().Find(kBucket, "another").object->blob;
    ASSERT_TRUE(server_->store().Put(kBucket, std::move(record), {}).ok());
  }

  void Put(const std::string& key, const std::string& content) {
    const Bytes bytes = AsBytes(content);
    ASSERT_THAT(store_->Write(key, std::span(&bytes, 1), {}).status(), IsOk());
  }

  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_P(DamagedObjectTest, EveryWholeReadNoticesIt) {
  for (const int64_t size : {int64_t{1000}, 11 * kMiB}) {
    PutDamaged("k", size);
    std::string memory(static_cast<size_t>(size), '?');
    const ReadPiece piece = {0, std::as_writable_bytes(std::span(memory))};
    const ObjectRead many[] = {{"k", piece}};
    std::vector<Status> statuses = store_->ReadMany(many, {});
    statuses.push_back(store_->Read("k", std::span(&piece, 1), {}).status());
    statuses.push_back(store_->ReadWhole("k", [&piece](int64_t) { return piece.memory; }, {}).status());
    EXPECT_THAT(statuses, Each(HasCode(ErrorCode::kIo))) << size;
    EXPECT_THAT(store_->ReadMany(many, {.verify = false}), Each(IsOk()));
    int64_t moved = 0;
    const ReadOptions counting = {.progress = [&moved](int64_t bytes) { moved += bytes; }};
    EXPECT_THAT(store_->Read("k", std::span(&piece, 1), counting).status(), Not(IsOk()));
    EXPECT_LE(moved, size) << "what is read again is no progress";
  }
}

TEST_P(DamagedObjectTest, NothingIsComposedOfItThatPassesThroughHere) {
  const bool oci = std::string_view(GetParam()).starts_with("oci");
  if (!oci && !std::string_view(GetParam()).starts_with("s3")) {
    GTEST_SKIP() << "the service composes by itself";
  }
  PutDamaged("k", oci ? 17 * kMiB : 1000);
  const std::string sources[] = {"k", "k"};
  EXPECT_THAT(store_->Compose(sources, "whole", {}).status(), HasCode(ErrorCode::kIo));
  EXPECT_THAT(store_->Stat("whole").value(), testing::Eq(std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Served, DamagedObjectTest, testing::Values("s3://test/", "gs://test/", "oci://test@assay/"),
                         [](const auto& info) { return std::string(info.param).substr(0, 2); });

constexpr int64_t kRangeBytes = 1000;

/// What a store of Google or of Oracle says to a request for a range of `content`: the checksum is the whole's.
http::ServerResponse RangeAnswer(const std::string& content, std::string_view range) {
  const std::string_view digits = range.substr(std::string_view("bytes=").size());
  const auto first = static_cast<size_t>(*ParseCount(digits.substr(0, digits.find('-'))));
  const std::string crc32c = ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content)).Base64();
  std::string bytes = content.substr(first, kRangeBytes);
  http::ServerResponse response;
  response.status = 206;
  response.headers.Add("Content-Range", "bytes " + std::to_string(first) + "-" +
                                            std::to_string(first + bytes.size() - 1) + "/" +
                                            std::to_string(content.size()));
  response.headers.Add("ETag", "e");
  response.headers.Add("x-goog-generation", "1");
  response.headers.Add("x-goog-hash", "crc32c=" + crc32c);
  response.headers.Add("opc-content-crc32c", crc32c);
  response.body = {http::BodyPiece::Text(std::move(bytes))};
  return response;
}

class DamagedRangeTest : public testing::TestWithParam<const char*> {
 protected:
  using Change = std::function<void(http::ServerResponse& response)>;

  /// The status of each way to read an object of several ranges whose first comes as `change` makes it, and, when it is
  /// asked for again, with a byte changed if it is `damaged`.
  std::vector<Status> ReadWith(const Change& change, bool damaged) {
    std::atomic<int> firsts = 0;
    StoreOptions options;
    options.part_bytes = kRangeBytes;
    LyingStore lying(
        GetParam(),
        [&](const http::RequestHead& head, std::string_view) {
          const std::string_view range = head.headers.Find("range").value_or("");
          if (range.empty()) {
            return http::TextResponse(404, "");
          }
          http::ServerResponse response = RangeAnswer(content_, range);
          const int attempt = range.starts_with("bytes=0-") ? firsts++ % 2 : -1;
          if (attempt == 0) {
            change(response);
          } else if (attempt == 1 && damaged) {
            response.body = {http::BodyPiece::Text(std::string(kRangeBytes, 'x'))};
          }
          return response;
        },
        options, 2);
    const ReadPiece piece = {0, std::as_writable_bytes(std::span(memory_))};
    const ObjectRead many[] = {{"k", piece}};
    std::vector<Status> statuses = lying.store().ReadMany(many, {});
    EXPECT_TRUE(!statuses.front().ok() || memory_ == content_);
    statuses.push_back(lying.store().ReadWhole("k", [&piece](int64_t) { return piece.memory; }, {}).status());
    EXPECT_TRUE(!statuses.back().ok() || memory_ == content_);
    return statuses;
  }

  const std::string content_ = RandomContent(3 * kRangeBytes, 1);
  std::string memory_ = std::string(content_.size(), '?');
};

TEST_P(DamagedRangeTest, IsNoticedWhateverAnAnswerSaidThatWasNotTaken) {
  const Change as_whole = [](http::ServerResponse& response) { response.status = 200; };
  const Change as_shorter = [](http::ServerResponse& response) {
    response.headers.Set("Content-Range", "bytes 0-999/1000");
  };
  for (const Change& change : {as_whole, as_shorter}) {
    EXPECT_THAT(ReadWith(change, true), Each(Not(IsOk())));
  }
  EXPECT_THAT(ReadWith(as_whole, false), Each(IsOk()));
}

INSTANTIATE_TEST_SUITE_P(Scripted, DamagedRangeTest, testing::Values("gs://test/", "oci://test@assay/"),
                         [](const auto& info) { return std::string(info.param).substr(0, 2); });

}  // namespace
}  // namespace assay::storage
