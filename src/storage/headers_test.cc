// What writes and copies put into headers, and what is never put there.
#include <gmock/gmock.h>

#include <mutex>
#include <string>
#include <vector>

#include "storage/lying_store.h"

namespace assay::storage {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr char kInjection[] = "x\r\nx-goog-acl: public-read";
const char* const kUris[] = {"s3://b/", "gs://b/", "oci://b@n/"};

http::ServerResponse Missing(const http::RequestHead&, std::string_view) {
  return http::TextResponse(404, "");
}

std::vector<WriteOptions> IllegalWrites() {
  std::vector<WriteOptions> writes(8);
  writes[0].metadata = {{"a", kInjection}};
  writes[1].metadata = {{"a\r\nx-goog-acl", "v"}};
  writes[2].metadata = {{"a b", "v"}};
  writes[3].metadata = {{"", "v"}};
  writes[4].content_type = kInjection;
  writes[5].condition = {.kind = WriteCondition::Kind::kMatches, .etag = kInjection};
  writes[6].condition.kind = WriteCondition::Kind::kAbsent;
  writes[6].write_token = kInjection;
  writes[7].condition.kind = WriteCondition::Kind::kMatches;
  return writes;
}

TEST(Headers, WhatIsNoHeaderIsRefusedBeforeAnythingIsSent) {
  const std::string content = "x";
  const Bytes buffers[] = {AsBytes(content)};
  const std::vector<ObjectWrite> many = {{"k", AsBytes(content)}, {"l", AsBytes(content)}};
  const std::vector<std::string> none;
  for (const char* uri : kUris) {
    LyingStore lying(uri, Missing);
    ObjectStore& store = lying.store();
    for (const WriteOptions& options : IllegalWrites()) {
      const Status status = store.Write("k", buffers, options).status();
      EXPECT_THAT(status, HasCode(ErrorCode::kInvalidArgument)) << uri;
      EXPECT_THAT(status.message(), AllOf(HasSubstr("cannot write"), Not(HasSubstr("\n"))));
      EXPECT_THAT(store.OpenWriter("k", options).status(), HasCode(ErrorCode::kInvalidArgument)) << uri;
      EXPECT_THAT(store.WriteMany(many, options), Each(HasCode(ErrorCode::kInvalidArgument))) << uri;
      EXPECT_THAT(store.Compose(none, "k", options).status(), HasCode(ErrorCode::kInvalidArgument)) << uri;
    }
    EXPECT_EQ(lying.requests(), 0) << uri;
  }
}

TEST(Headers, ACopyThatIsAskedForInJsonCarriesOnWhatNoHeaderHolds) {
  std::string resource;
  LyingStore lying("gs://b/", [&resource](const http::RequestHead& head, std::string_view body) {
    if (head.method == "POST") {
      resource = body;
    }
    return http::TextResponse(
        200, head.method == "POST"
                 ? R"({"done":true,"resource":{"name":"to","size":"1","generation":"2"}})"
                 : R"({"name":"from","size":"1","generation":"1","metadata":{"a b":"x\r\nx-goog-acl: public-read"}})");
  });
  EXPECT_THAT(lying.store().Copy("from", "to", {}).status(), IsOk());
  EXPECT_THAT(resource, HasSubstr(R"("a b":"x\r\nx-goog-acl: public-read")"));
  EXPECT_THAT(lying.store().Copy("from", "to", {.metadata = {{"a", kInjection}}}).status(),
              HasCode(ErrorCode::kInvalidArgument));
}

TEST(Headers, BytesAbove127GoOutAsTheyAre) {
  const std::string content = "x";
  const Bytes buffers[] = {AsBytes(content)};
  WriteOptions options;
  options.metadata = {{"name", "caf\xC3\xA9 \xE6\x97\xA5"}};
  for (const char* uri : {"s3://b/", "oci://b@n/"}) {
    std::mutex mutex;
    std::vector<std::string> values;
    LyingStore lying(uri, [&](const http::RequestHead& head, std::string_view) {
      const std::lock_guard lock(mutex);
      for (const http::Header& header : head.headers.all()) {
        values.push_back(header.value);
      }
      http::ServerResponse answer = http::TextResponse(200, "");
      answer.headers.Add("ETag", "\"e\"");
      return answer;
    });
    EXPECT_THAT(lying.store().Write("k", buffers, options).status(), IsOk());
    EXPECT_THAT(values, Contains("caf\xC3\xA9 \xE6\x97\xA5")) << uri;
  }
}

TEST(Headers, WhatAStoreSaysIsNotPassedOnWhereItWouldEndALine) {
  std::string memory(1, ' ');
  const ReadPiece piece{0, std::as_writable_bytes(std::span(memory))};
  for (const char* uri : {"s3://b/", "oci://b@n/"}) {
    LyingStore lying(uri, Missing);
    const Status status =
        lying.store().Read("k", std::span(&piece, 1), {.if_match = "e\"\r\nx-amz-acl: public-read"}).status();
    EXPECT_THAT(status, HasCode(ErrorCode::kInvalidArgument)) << uri;
    EXPECT_THAT(status.message(), HasSubstr("holds a control character"));
    EXPECT_EQ(lying.requests(), 0) << uri;
  }
}

TEST(Headers, OptionsAndBucketsAreChecked) {
  StoreOptions options;
  options.anonymous = true;
  options.storage_class = "STANDARD\r\nx-amz-acl: public-read";
  EXPECT_THAT(OpenStore("s3://b/", options).status().message(), HasSubstr("the option storage_class"));
  options.storage_class.clear();
  for (const char* uri : {"s3://b\r\nx: y/k", "gs://b?x/k", "oci://b c@n/k", "s3://b%2F/k"}) {
    EXPECT_THAT(OpenStore(uri, options).status().message(), HasSubstr("can be no bucket's name")) << uri;
  }
}

}  // namespace
}  // namespace assay::storage
