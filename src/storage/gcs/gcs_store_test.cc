#include "storage/gcs/gcs_store.h"

#include <cstdlib>

#include "base/text.h"
#include "http/client.h"
#include "storage/conformance.h"
#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/gcs/gcs_kind.h"
#include "storage/gcs/multipart_related.h"
#include "storage/transfer/checksum_source.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A new bucket of the server that ASSAY_TEST_GCS_ENDPOINT names.
class GcsUnderTest final : public StoreUnderTest {
 public:
  explicit GcsUnderTest(const std::string& endpoint) {
    const std::string bucket = "assay-test-" + RandomUid().substr(0, 12);
    http::Request request = {.method = "POST", .url = endpoint + "/storage/v1/b?project=test"};
    const std::string body = R"({"name": ")" + bucket + R"("})";
    request.headers.Add("Content-Type", "application/json");
    request.body = {std::as_bytes(std::span(body))};
    const auto answer = http::Client().Fetch(request);
    EXPECT_TRUE(answer.ok() && answer->status == 200) << (answer.ok() ? answer->body : answer.status().message());
    StoreOptions options;
    options.endpoint = endpoint;
    options.anonymous = true;
    options.part_bytes = 5 << 20;
    auto store = kGcsKind.open({"gs", bucket, ""}, options);
    EXPECT_THAT(store.status(), IsOk());
    store_ = *std::move(store);
  }
  ObjectStore& store() override { return *store_; }

 private:
  std::unique_ptr<ObjectStore> store_;
};

std::vector<ConformanceTarget> Targets() {
  std::vector<ConformanceTarget> targets;
  if (const char* endpoint = std::getenv("ASSAY_TEST_GCS_ENDPOINT")) {
    targets.push_back({.name = "endpoint",
                       .make = [=] { return std::make_unique<GcsUnderTest>(endpoint); },
                       .keeps_dot_parts = false,
                       .counts_prefixes = false,
                       .lists_uploads = false,
                       .checks_at_commit = false,
                       .presigns = false,
                       .unfinished_bytes = 11 << 20});
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Gcs, ObjectStoreConformance, testing::ValuesIn(Targets()), TargetName);

GcsDialect MakeDialect() {
  return GcsDialect(GcsUrls("https://storage.googleapis.com/", "b"), {});
}

TEST(GcsDialect, WritesAddresses) {
  const GcsDialect dialect = MakeDialect();
  EXPECT_EQ(dialect.Head("a/b c+%").request.url, "https://storage.googleapis.com/storage/v1/b/b/o/a%2Fb%20c%2B%25");
  EXPECT_EQ(dialect.Get("k", 5, 10, "17").request.url,
            "https://storage.googleapis.com/storage/v1/b/b/o/k?alt=media&ifGenerationMatch=17");
  EXPECT_EQ(dialect.Get("k", 5, 10, "").request.headers.Find("range"), "bytes=5-14");
  EXPECT_EQ(
      dialect.PutPart("a/b", "id=", 2, *std::make_unique<ChecksumSource>(std::vector<Bytes>{}, ChecksumKind::kCrc32c))
          .request.url,
      "https://storage.googleapis.com/b/a/b?partNumber=2&uploadId=id%3D");
  EXPECT_THAT(dialect.List({.prefix = "p/", .start_after = "p/a", .end_before = "p/z"}).request.url,
              HasSubstr("?prefix=p%2F&startOffset=p%2Fa%01&endOffset=p%2Fz&maxResults=1000&fields="));
  EXPECT_THAT(dialect.List({.keys_only = true}).request.url,
              testing::EndsWith("&fields=items%28name%2Csize%2Cgeneration%29%2Cprefixes%2CnextPageToken"));
}

TEST(GcsDialect, SendsTheChecksumOfAPart) {
  const std::string content = "123456789";
  ChecksumSource body({AsBytes(content)}, ChecksumKind::kCrc32c);
  EXPECT_EQ(MakeDialect().PutPart("k", "id", 1, body).request.headers.Find("x-goog-hash"), "crc32c=4waSgw==");
}

TEST(GcsDialect, SendsConditionsChecksumAndTokenWithAnObject) {
  const std::string content = "123456789";
  ChecksumSource body({AsBytes(content)}, ChecksumKind::kCrc32c);
  const WriteOptions options = [] {
    WriteOptions made;
    made.condition.kind = WriteCondition::Kind::kAbsent;
    made.content_type = "text/plain";
    return made;
  }();
  Outgoing outgoing = MakeDialect().Put("k", body, options, "token");
  EXPECT_THAT(outgoing.request.url, HasSubstr("uploadType=multipart&name=k&ifGenerationMatch=0"));
  std::string sent(static_cast<size_t>(outgoing.source->bytes()), '\0');
  const auto read_all = [&] {
    size_t at = 0;
    // In small pieces, as a socket would take them.
    while (const size_t count = outgoing.source->Read(
               std::as_writable_bytes(std::span(sent)).subspan(at, std::min<size_t>(7, sent.size() - at)))) {
      at += count;
    }
    return at;
  };
  EXPECT_EQ(read_all(), sent.size());
  EXPECT_THAT(sent, HasSubstr(R"("crc32c":"4waSgw==")"));
  EXPECT_THAT(sent, HasSubstr(R"("metadata":{"assay-write-token":"token"})"));
  EXPECT_THAT(sent, HasSubstr("Content-Type: text/plain\r\n\r\n123456789\r\n--assay-"));
  const std::string first = sent;
  outgoing.source->Rewind();
  EXPECT_EQ(read_all(), sent.size());
  EXPECT_EQ(sent, first);
}

TEST(GcsJson, ReadsAnObject) {
  const auto info = ParseGcsObject("a/b", R"({"kind": "storage#object", "name": "a/b", "size": "1234567890123",
      "generation": "1700000000000001", "crc32c": "4waSgw==", "md5Hash": "x", "updated": "2026-01-31T12:00:00.500Z",
      "contentType": "text/plain", "metadata": {"step": "7"}, "storageClass": "STANDARD", "etag": "CJ+="})");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->key, "a/b");
  EXPECT_EQ(info->size, 1234567890123);
  EXPECT_EQ(info->etag, "1700000000000001");
  EXPECT_EQ(info->checksum->Hex(), "e3069283");
  EXPECT_DOUBLE_EQ(info->modified, 1769860800.5);
  EXPECT_THAT(info->metadata, ElementsAre(Pair("step", "7")));
  for (const std::string_view damaged :
       {"", "[]", "{}", R"({"name": "a", "size": "x", "generation": "1"})", "{\"name\""}) {
    EXPECT_FALSE(ParseGcsObject("a", damaged).has_value()) << damaged;
  }
}

TEST(GcsJson, AnObjectOfAnotherNameIsNotTheOneAskedFor) {
  const std::string object = R"({"name": "a/b", "size": "1", "generation": "1"})";
  EXPECT_TRUE(ParseGcsObject("a/b", object).has_value());
  EXPECT_FALSE(ParseGcsObject("a/c", object).has_value());
  EXPECT_TRUE(ParseGcsRewrite("a/b", R"({"done": true, "resource": )" + object + "}").has_value());
  EXPECT_FALSE(ParseGcsRewrite("a/c", R"({"done": true, "resource": )" + object + "}").has_value());
}

TEST(GcsJson, ReadsHashesFromHeaders) {
  http::Response answer;
  answer.headers.Add("x-goog-hash", "md5=9iDt/xd0RGlAKHl1+qHqDg==");
  answer.headers.Add("X-Goog-Hash", "crc32c=4waSgw==");
  EXPECT_EQ(GcsHeaderChecksum(answer)->Hex(), "e3069283");
  http::Response joined;
  joined.headers.Add("x-goog-hash", "crc32c=4waSgw==, md5=9iDt/xd0RGlAKHl1+qHqDg==");
  EXPECT_EQ(GcsHeaderChecksum(joined)->Hex(), "e3069283");
  EXPECT_FALSE(GcsHeaderChecksum({}).has_value());
}

TEST(GcsDialect, ProvesPartsByEtagsThatAreTheirMd5) {
  const auto proves = [](const std::string& hash, const std::string& etag) {
    http::Response answer;
    answer.headers.Add("etag", '"' + etag + '"');
    answer.headers.Add("x-goog-hash", "crc32c=4waSgw==" + hash);
    return MakeDialect().ListProves(MakeDialect().ReadPutPart(answer).value);
  };
  const std::string md5 = ",md5=9iDt/xd0RGlAKHl1+qHqDg==";
  EXPECT_TRUE(proves(md5, "f620edff1774446940287975faa1ea0e"));
  EXPECT_FALSE(proves(md5, "another"));
  EXPECT_FALSE(proves("", "f620edff1774446940287975faa1ea0e"));
}

TEST(GcsFailure, KnowsWhatErrorsMean) {
  const auto failure = [](int status, std::string body) {
    http::Response answer;
    answer.status = status;
    answer.body = std::move(body);
    return ReadGcsFailure(answer);
  };
  EXPECT_EQ(
      failure(404, R"({"error": {"code": 404, "message": "No such object", "errors": [{"reason": "notFound"}]}})").kind,
      FailureClass::kMissing);
  EXPECT_EQ(failure(401, "").kind, FailureClass::kExpired);
  EXPECT_EQ(failure(403, R"({"error": {"errors": [{"reason": "rateLimitExceeded"}], "message": "slow"}})").kind,
            FailureClass::kThrottle);
  EXPECT_EQ(failure(412, R"({"error": {"errors": [{"reason": "conditionNotMet"}]}})").kind,
            FailureClass::kPrecondition);
  EXPECT_EQ(failure(400, R"({"error": {"message": "Provided CRC32C \"a\" doesn't match", "errors": [{}]}})").code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(failure(503, "<html>").kind, FailureClass::kServer);
}

}  // namespace
}  // namespace assay::storage
