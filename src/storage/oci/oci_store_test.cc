#include "storage/oci/oci_store.h"

#include <cstdlib>

#include "base/text.h"
#include "http/client.h"
#include "storage/conformance.h"
#include "storage/lying_store.h"
#include "storage/oci/oci_failure.h"
#include "storage/oci/oci_json.h"
#include "storage/oci/oci_kind.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A new bucket of the server that ASSAY_TEST_OCI_ENDPOINT names.
class OciUnderTest final : public StoreUnderTest {
 public:
  explicit OciUnderTest(const std::string& endpoint) {
    const std::string bucket = "assay-test-" + RandomUid().substr(0, 12);
    http::Request request = {.method = "POST", .url = endpoint + "/n/space/b/"};
    const std::string body = R"({"name": ")" + bucket + R"(", "compartmentId": "ocid1.compartment.test"})";
    request.headers.Add("Content-Type", "application/json");
    request.body = {std::as_bytes(std::span(body))};
    const auto answer = http::Client().Fetch(request);
    EXPECT_TRUE(answer.ok() && answer->status == 200) << (answer.ok() ? answer->body : answer.status().message());
    StoreOptions options;
    options.endpoint = endpoint;
    options.region = "us-test-1";
    options.anonymous = true;
    options.part_bytes = 5 << 20;
    auto store = kOciKind.open({"oci", bucket + "@space", ""}, options);
    EXPECT_THAT(store.status(), IsOk());
    store_ = *std::move(store);
  }
  ObjectStore& store() override { return *store_; }

 private:
  std::unique_ptr<ObjectStore> store_;
};

std::vector<ConformanceTarget> Targets() {
  std::vector<ConformanceTarget> targets;
  if (const char* endpoint = std::getenv("ASSAY_TEST_OCI_ENDPOINT")) {
    targets.push_back({.name = "endpoint",
                       .make = [=] { return std::make_unique<OciUnderTest>(endpoint); },
                       .presigns = true,
                       .unfinished_bytes = 11 << 20});
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Oci, ObjectStoreConformance, testing::ValuesIn(Targets()), TargetName);

OciDialect MakeDialect() {
  return OciDialect(OciUrls("https://objectstorage.us-ashburn-1.oraclecloud.com/", "space", "b"), {});
}

std::string Host(const std::string& path) {
  return "https://objectstorage.us-ashburn-1.oraclecloud.com" + path;
}

TEST(OciDialect, WritesAddresses) {
  const OciDialect dialect = MakeDialect();
  EXPECT_EQ(dialect.Head("a/b c+%").request.url, Host("/n/space/b/b/o/a%2Fb%20c%2B%25"));
  EXPECT_EQ(dialect.AbortUpload("a/b", "id=").request.url, Host("/n/space/b/b/u/a%2Fb?uploadId=id%3D"));
  const ListOptions options = {.prefix = "p/", .delimiter = "/", .start_after = "p/a", .end_before = "p/z"};
  EXPECT_EQ(dialect.List(options).request.url,
            Host("/n/space/b/b/o?limit=1000&fields=name%2Csize%2Cetag%2CtimeModified%2Cmd5%2CstorageTier"
                 "&prefix=p%2F&delimiter=%2F&end=p%2Fz&startAfter=p%2Fa"));
  const ListOptions next = {.start_after = "p/a", .page_token = "p/c"};
  EXPECT_THAT(dialect.List(next).request.url, testing::EndsWith("&start=p%2Fc"));
  EXPECT_EQ(dialect.List({.keys_only = true}).request.url, Host("/n/space/b/b/o?limit=1000&fields=name%2Csize%2Cetag"));
  EXPECT_EQ(dialect.Uri("k"), "oci://b@space/k");
}

TEST(OciDialect, SendsConditionsChecksumAndTokenWithAnObject) {
  const std::string content = "123456789";
  ChecksumSource body({AsBytes(content)}, ChecksumKind::kCrc32c);
  WriteOptions options;
  options.condition.kind = WriteCondition::Kind::kAbsent;
  options.metadata = {{"step", "7"}};
  const Outgoing outgoing = MakeDialect().Put("k", body, options, "token");
  EXPECT_EQ(outgoing.request.headers.Find("if-none-match"), "*");
  EXPECT_EQ(outgoing.request.headers.Find("opc-content-crc32c"), "4waSgw==");
  EXPECT_EQ(outgoing.request.headers.Find("opc-meta-step"), "7");
  EXPECT_EQ(outgoing.request.headers.Find("opc-meta-assay-write-token"), "token");
}

TEST(OciDialect, ProvesPartsByTheMd5ThatListsTell) {
  http::Response answer;
  answer.headers.Add("opc-content-crc32c", "4waSgw==");
  EXPECT_FALSE(MakeDialect().ListProves(MakeDialect().ReadPutPart(answer).value));
  answer.headers.Add("opc-content-md5", "9iDt/xd0RGlAKHl1+qHqDg==");
  EXPECT_TRUE(MakeDialect().ListProves(MakeDialect().ReadPutPart(answer).value));
}

TEST(OciDialect, HashesTheJsonItSends) {
  const Outgoing outgoing = MakeDialect().CreateUpload("k", {}, "");
  std::string sent(static_cast<size_t>(outgoing.source->bytes()), '\0');
  outgoing.source->Read(std::as_writable_bytes(std::span(sent)));
  EXPECT_EQ(sent, R"({"contentType":"application/octet-stream","object":"k"})");
  EXPECT_EQ(outgoing.request.headers.Find("content-length"), std::to_string(sent.size()));
  EXPECT_EQ(outgoing.payload_hash, ChecksumOf(ChecksumKind::kSha256, AsBytes(sent)).Base64());
}

TEST(OciJson, ReadsAListing) {
  const auto page = ParseOciList(R"({"objects": [{"name": "a", "size": 5, "etag": "e-1", "md5": "x",
      "timeModified": "2026-01-31T12:00:00.500Z", "storageTier": "Standard"}], "prefixes": ["b/"],
      "nextStartWith": "c"})");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->objects.at(0).key, "a");
  EXPECT_EQ(page->objects.at(0).etag, "e-1");
  EXPECT_DOUBLE_EQ(page->objects.at(0).modified, 1769860800.5);
  EXPECT_THAT(page->prefixes, ElementsAre("b/"));
  EXPECT_EQ(page->next_page_token, "c");
  for (const std::string_view damaged : {"", "[]", "{}", R"({"objects": [{"size": 5}]})", R"({"objects": [5]})"}) {
    EXPECT_FALSE(ParseOciList(damaged).ok()) << damaged;
  }
}

TEST(OciJson, ReadsAnObjectFromHeaders) {
  http::Response answer;
  answer.status = 206;
  answer.headers.Add("Content-Range", "bytes 0-9/100");
  answer.headers.Add("Content-Length", "10");
  answer.headers.Add("ETag", "e-1");
  answer.headers.Add("opc-meta-Step", "7");
  answer.headers.Add("Content-MD5", "9iDt/xd0RGlAKHl1+qHqDg==");
  const auto info = OciInfoOfHeaders("k", answer);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->size, 100);
  EXPECT_EQ(info->etag, "e-1");
  EXPECT_THAT(info->metadata, ElementsAre(Pair("step", "7")));
  EXPECT_FALSE(info->checksum.has_value());
  answer.headers.Add("opc-content-crc32c", "4waSgw==");
  EXPECT_EQ(OciInfoOfHeaders("k", answer)->checksum->Hex(), "e3069283");
}

TEST(OciFailure, KnowsWhatErrorsMean) {
  const auto failure = [](int status, std::string body) {
    http::Response answer;
    answer.status = status;
    answer.body = std::move(body);
    answer.headers.Add("opc-request-id", "r-1");
    return ReadOciFailure(answer);
  };
  EXPECT_EQ(failure(404, R"({"code": "ObjectNotFound", "message": "none"})").kind, FailureClass::kMissing);
  EXPECT_EQ(failure(404, R"({"code": "BucketNotFound", "message": "none"})").kind, FailureClass::kPermanent);
  EXPECT_EQ(failure(404, "").kind, FailureClass::kMissing);
  EXPECT_EQ(failure(412, R"({"code": "IfNoneMatchFailed"})").code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(failure(429, R"({"code": "TooManyRequests"})").kind, FailureClass::kThrottle);
  EXPECT_EQ(failure(401, R"({"code": "NotAuthenticated", "message": "The required information"})").kind,
            FailureClass::kExpired);
  EXPECT_EQ(failure(401, R"({"code": "NotAuthenticated", "message": "date is too far from the clock"})").kind,
            FailureClass::kClockSkew);
  EXPECT_EQ(failure(500, "<html>").request_id, "r-1");
}

/// Copies the object "from" of 3 bytes; what becomes of the request, and what stands under "to" then, is the test's.
class CopyingOci {
 public:
  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    http::ServerResponse answer = http::TextResponse(200, "");
    if (head.method == "POST") {
      if (const size_t at = body.find(kToken); at != std::string_view::npos && token_.empty()) {
        token_ = body.substr(at + kToken.size(), body.find('"', at + kToken.size()) - at - kToken.size());
        answer.cut = http::CutKind::kReset;
        return answer;
      }
      answer = http::TextResponse(second_status, second_status == 412 ? R"({"code":"IfNoneMatchFailed"})" : "");
      answer.headers.Add("opc-work-request-id", "w");
      return answer;
    }
    if (head.target.find("/workRequests/") != std::string::npos) {
      return http::TextResponse(200, R"({"status":")" + work_status + "\"}");
    }
    return Standing(head.target.ends_with("/from"));
  }

  int second_status = 202;  ///< of requests to copy whose answer is not lost
  std::string work_status = "COMPLETED";
  std::string standing = "abc";
  int stat_status = 200;  ///< of "to"
  bool another_wrote = false;

 private:
  http::ServerResponse Standing(bool source) const {
    http::ServerResponse answer;
    answer.status = source ? 200 : stat_status;
    answer.body = {http::BodyPiece::Text(source ? "abc" : standing)};
    answer.headers.Add("ETag", "e");
    answer.headers.Add("opc-meta-assay-write-token", source ? "" : another_wrote ? "theirs" : token_);
    return answer;
  }

  static constexpr std::string_view kToken = R"("opc-meta-assay-write-token":")";
  std::string token_{};
};

Status CopyOn(CopyingOci& oci, WriteCondition::Kind condition) {
  LyingStore store(
      "oci://b@n/", [&oci](const http::RequestHead& head, std::string_view body) { return oci.Answer(head, body); }, {},
      3);
  WriteOptions options;
  options.condition.kind = condition;
  return store.store().Copy("from", "to", options).status();
}

TEST(OciStore, ACopyUnderAConditionWhoseAnswerWasLostIsOurs) {
  CopyingOci refused;
  refused.second_status = 412;
  EXPECT_THAT(CopyOn(refused, WriteCondition::Kind::kAbsent), IsOk());
  CopyingOci failed;
  failed.work_status = "FAILED";
  EXPECT_THAT(CopyOn(failed, WriteCondition::Kind::kAbsent), IsOk());
}

TEST(OciStore, ACopyThatIsNotTheSourcesIsAnError) {
  CopyingOci other;
  other.standing = "abcd";
  EXPECT_THAT(CopyOn(other, WriteCondition::Kind::kNone).message(), HasSubstr("3 bytes were sent, the store has 4"));
  CopyingOci failed;
  failed.another_wrote = true;
  failed.work_status = "FAILED";
  EXPECT_THAT(CopyOn(failed, WriteCondition::Kind::kNone).message(), HasSubstr("ended as FAILED"));
}

TEST(OciStore, ACopyWhoseAnswerWasLostAndThatIsNotTheSourcesIsAnError) {
  CopyingOci refused;
  refused.second_status = 412;
  refused.standing = "abcd";
  EXPECT_THAT(CopyOn(refused, WriteCondition::Kind::kAbsent).message(),
              HasSubstr("3 bytes were sent, the store has 4"));
}

TEST(OciStore, ACopyThatAnotherWroteOverOrThatCannotBeAskedForIsDone) {
  CopyingOci other;
  other.standing = "abcd";
  other.another_wrote = true;
  EXPECT_THAT(CopyOn(other, WriteCondition::Kind::kNone), IsOk());
  for (const int status : {403, 404, 500}) {
    CopyingOci silent;
    silent.stat_status = status;
    EXPECT_THAT(CopyOn(silent, WriteCondition::Kind::kNone), IsOk()) << status;
  }
}

TEST(OpenOci, SaysWhatIsMissing) {
  StoreOptions options;
  options.anonymous = true;
  const auto store = kOciKind.open({"oci", "bucket", ""}, options);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("write oci://bucket@namespace/key"));
}

}  // namespace
}  // namespace assay::storage
