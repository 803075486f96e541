#include "objectserver/oci/dialect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "objectserver/oci/preauthenticated.h"
#include "objectserver/testing.h"
#include "storage/auth/oci_signature.h"

namespace assay::objectserver::oci {
namespace {

using nlohmann::json;
using objectserver::testing::Harness;
using objectserver::testing::Reply;

const std::string kBucket = "/n/assay/b/test";

json Body(const Reply& reply) {
  return json::parse(reply.body, nullptr, false);
}

TEST(Oci, PutsGetsAndDeletes) {
  Harness harness;
  EXPECT_EQ(Body(harness.Send("GET", "/n")), "assay");
  const Reply put = harness.Send("PUT", kBucket + "/o/a/b%20c", "hello",
                                 {{"opc-meta-x", "y"}, {"Content-MD5", "XUFAKrxLKna5cZ2REBfFkg=="}});
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.Header("opc-content-md5"), "XUFAKrxLKna5cZ2REBfFkg==");
  const Reply get = harness.Send("GET", kBucket + "/o/a%2Fb%20c", "", {{"Range", "bytes=1-2"}});
  EXPECT_EQ(get.status, 206);
  EXPECT_EQ(get.body, "el");
  EXPECT_EQ(get.Header("opc-meta-x"), "y");
  EXPECT_EQ(get.Header("opc-content-crc32c"), "mnG7TA==");
  EXPECT_EQ(harness.Send("PUT", kBucket + "/o/k", "x", {{"Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="}}).status, 400);
  EXPECT_EQ(harness.Send("PUT", kBucket + "/o/a%2Fb%20c", "x", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(Body(harness.Send("GET", kBucket + "/o/none"))["code"], "ObjectNotFound");
  EXPECT_EQ(Body(harness.Send("GET", "/n/other/b/test/o/k"))["code"], "BucketNotFound");
  EXPECT_EQ(harness.Send("DELETE", kBucket + "/o/a/b%20c").status, 204);
  EXPECT_EQ(harness.Send("DELETE", kBucket + "/o/a/b%20c").status, 404);
}

TEST(Oci, EtagsSayNothingOfTheContent) {
  Harness harness;
  const std::string first = harness.Send("PUT", kBucket + "/o/k", "hello").Header("etag");
  const Reply second = harness.Send("PUT", kBucket + "/o/k", "hello");
  EXPECT_NE(second.Header("etag"), first);
  EXPECT_EQ(harness.Send("GET", kBucket + "/o/k").Header("etag"), second.Header("etag"));
  const auto copy = [&] {
    harness.Send("POST", kBucket + "/actions/copyObject",
                 R"({"sourceObjectName":"k","destinationBucket":"test",)"
                 R"("destinationObjectName":"c","destinationRegion":"r","destinationNamespace":"assay"})");
    return harness.Send("GET", kBucket + "/o/c").Header("etag");
  };
  const std::string copied = copy();
  EXPECT_NE(copied, second.Header("etag"));
  EXPECT_NE(copy(), copied);
}

TEST(Oci, CommitsPartsThatCameByAnotherDialect) {
  Harness harness;
  const std::string id = harness.Send("POST", "/test/k?uploads").Xml("UploadId");
  const std::string sha256 =
      storage::ChecksumOf(storage::ChecksumKind::kSha256, std::as_bytes(std::span("hello", 5))).Base64();
  const Reply part =
      harness.Send("PUT", "/test/k?partNumber=1&uploadId=" + id, "hello", {{"x-amz-checksum-sha256", sha256}});
  const std::string etag = part.Header("ETag").substr(1, part.Header("ETag").size() - 2);
  const Reply done = harness.Send("POST", kBucket + "/u/k?uploadId=" + id,
                                  json({{"partsToCommit", {{{"partNum", 1}, {"etag", etag}}}}}).dump());
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.Header("opc-content-crc32c"), "mnG7TA==");
}

TEST(Oci, ListsCopiesAndCommitsParts) {
  Harness harness;
  for (const char* name : {"a", "b/1", "b/2", "c"}) {
    harness.Send("PUT", kBucket + "/o/" + name, "12345");
  }
  const json page = Body(harness.Send("GET", kBucket + "/o?limit=2&delimiter=%2F"));
  EXPECT_EQ(page["objects"].size(), 1u);
  EXPECT_EQ(page["prefixes"], json::array({"b/"}));
  EXPECT_EQ(page["nextStartWith"], "c");
  EXPECT_EQ(Body(harness.Send("GET", kBucket + "/o?start=b%2F2"))["objects"].size(), 2u);
  const Reply copied = harness.Send(
      "POST", kBucket + "/actions/copyObject",
      R"({"sourceObjectName":"a","destinationBucket":"test","destinationObjectName":"d","destinationRegion":"r","destinationNamespace":"assay"})");
  EXPECT_EQ(copied.status, 202);
  EXPECT_EQ(Body(harness.Send("GET", "/workRequests/" + copied.Header("opc-work-request-id")))["status"], "COMPLETED");
  const std::string id = Body(harness.Send("POST", kBucket + "/u", R"({"object":"big"})"))["uploadId"];
  const std::string part = kBucket + "/u/big?uploadId=" + id;
  const std::string second = harness.Send("PUT", part + "&uploadPartNum=2", "two").Header("etag");
  const std::string first = harness.Send("PUT", part + "&uploadPartNum=1", "one").Header("etag");
  EXPECT_EQ(Body(harness.Send("GET", part)).size(), 2u);
  EXPECT_EQ(Body(harness.Send("GET", kBucket + "/u")).size(), 1u);
  const auto commit = [&](const std::string& etag) {
    return harness.Send(
        "POST", part,
        json({{"partsToCommit", {{{"partNum", 2}, {"etag", second}}, {{"partNum", 1}, {"etag", etag}}}}}).dump());
  };
  EXPECT_EQ(commit("wrong").status, 400);
  EXPECT_EQ(harness.Send("DELETE", kBucket + "/u/another?uploadId=" + id).status, 404);
  EXPECT_EQ(commit(first).status, 200);
  EXPECT_EQ(harness.Send("GET", kBucket + "/o/big").body, "onetwo");
}

TEST(Oci, CopiesBetweenBucketsUnderConditions) {
  Harness harness;
  harness.store().CreateBucket("other", "r");
  const std::string etag =
      harness.Send("PUT", kBucket + "/o/a", "12345", {{"opc-meta-x", "y"}, {"Content-Type", "text/x"}}).Header("etag");
  const auto copy = [&](json details) {
    details.update({{"sourceObjectName", "a"},
                    {"destinationRegion", "r"},
                    {"destinationNamespace", "assay"},
                    {"destinationBucket", "other"},
                    {"destinationObjectName", "b"}});
    return harness.Send("POST", kBucket + "/actions/copyObject", details.dump());
  };
  EXPECT_EQ(copy({{"sourceObjectIfMatchETag", "wrong"}}).status, 412);
  EXPECT_EQ(copy({{"sourceObjectIfMatchETag", etag}}).status, 202);
  const Reply kept = harness.Send("GET", "/n/assay/b/other/o/b");
  EXPECT_EQ(kept.body, "12345");
  EXPECT_EQ(kept.Header("opc-meta-x"), "y");
  EXPECT_EQ(kept.Header("content-type"), "text/x");
  EXPECT_EQ(copy({{"destinationObjectIfNoneMatchETag", "*"}}).status, 412);
  EXPECT_EQ(copy({{"destinationObjectIfMatchETag", "wrong"}}).status, 412);
  EXPECT_EQ(copy({{"destinationObjectMetadata", {{"opc-meta-New", "z"}}}}).status, 202);
  const Reply replaced = harness.Send("GET", "/n/assay/b/other/o/b");
  EXPECT_EQ(replaced.Header("opc-meta-new"), "z");
  EXPECT_EQ(replaced.Header("opc-meta-x"), "");
  EXPECT_EQ(Body(harness.Send("POST", kBucket + "/actions/copyObject", "{}"))["code"], "InvalidParameter");
}

TEST(Oci, GrantsWhatAPreauthenticatedRequestSaysAndNoMore) {
  Harness harness;
  harness.Send("PUT", kBucket + "/o/a%20b", "hello");
  harness.Send("PUT", kBucket + "/o/run/1", "one");
  const auto make = [&](json details) {
    details.update({{"name", "n"}, {"timeExpires", "2099-01-01T00:00:00Z"}});
    return Body(harness.Send("POST", kBucket + "/p/", details.dump()));
  };
  const json read = make({{"accessType", "ObjectRead"}, {"objectName", "a b"}});
  const std::string address = read["accessUri"];
  EXPECT_EQ(harness.Send("GET", address).body, "hello");
  EXPECT_EQ(harness.Send("HEAD", address).status, 200);
  EXPECT_EQ(harness.Send("PUT", address, "x").status, 404);
  EXPECT_EQ(harness.Send("DELETE", address).status, 404);
  const std::string secret = address.substr(0, address.find("/n/"));
  EXPECT_EQ(harness.Send("GET", secret + kBucket + "/o/run/1").status, 404);
  EXPECT_EQ(Body(harness.Send("GET", "/p/guessed" + kBucket + "/o/a%20b"))["code"], "NotAuthenticated");

  const json any =
      make({{"accessType", "AnyObjectReadWrite"}, {"objectName", "run/"}, {"bucketListingAction", "ListObjects"}});
  const std::string run = any["accessUri"];
  EXPECT_EQ(harness.Send("PUT", run + "run/2", "two").status, 200);
  EXPECT_EQ(harness.Send("GET", run + "run/2").body, "two");
  EXPECT_EQ(harness.Send("GET", run + "a%20b").status, 404);
  EXPECT_EQ(Body(harness.Send("GET", run.substr(0, run.size() - 1) + "?prefix=run%2F"))["objects"].size(), 2u);

  EXPECT_EQ(Body(harness.Send("GET", kBucket + "/p")).size(), 2u);
  EXPECT_EQ(Body(harness.Send("GET", kBucket + "/p")).dump().find(secret.substr(3)), std::string::npos);
  EXPECT_EQ(harness.Send("DELETE", kBucket + "/p/" + std::string(read["id"])).status, 204);
  EXPECT_EQ(harness.Send("GET", address).status, 404);
  EXPECT_EQ(harness.Send("DELETE", kBucket + "/p/" + std::string(read["id"])).status, 404);
}

TEST(Oci, APreauthenticatedRequestForAPrefixListsNothingElse) {
  Harness harness;
  const auto make = [&](const char* prefix) {
    const json details = {{"name", "n"},
                          {"timeExpires", "2099-01-01T00:00:00Z"},
                          {"accessType", "AnyObjectRead"},
                          {"objectName", prefix},
                          {"bucketListingAction", "ListObjects"}};
    const std::string address = Body(harness.Send("POST", kBucket + "/p/", details.dump()))["accessUri"];
    return address.substr(0, address.size() - 1);
  };
  for (const char* name : {"other", "run/1", "run/2/a"}) {
    harness.Send("PUT", kBucket + "/o/" + name, "x");
  }
  const std::string run = make("run/");
  EXPECT_EQ(Body(harness.Send("GET", run + "?prefix=run%2F"))["objects"].size(), 2u);
  EXPECT_EQ(Body(harness.Send("GET", run + "?prefix=run%2F2"))["objects"].size(), 1u);
  for (const char* query : {"", "?prefix=", "?prefix=run", "?prefix=o", "?prefix=&prefix=run%2F"}) {
    EXPECT_EQ(harness.Send("GET", run + query).status, 404) << query;
  }
  EXPECT_EQ(Body(harness.Send("GET", make("")))["objects"].size(), 3u);
}

/// A server that knows one key, and requests signed with it.
class SignedOci : public ::testing::Test {
 protected:
  enum class Payload { kSigned, kUnsigned };

  Reply Send(const std::string& method, const std::string& target, const std::string& body, Payload how,
             const std::string& sent_body) {
    http::Request request;
    request.method = method;
    request.url = "http://127.0.0.1:9000" + target;
    request.body = {std::as_bytes(std::span(body))};
    const std::string hash = storage::ChecksumOf(storage::ChecksumKind::kSha256, request.body[0]).Base64();
    EXPECT_TRUE(storage::SignOciRequest(key_, "t/u/f", UnixSeconds(),
                                        {.host = true, .sha256 = how == Payload::kSigned ? hash : ""}, request)
                    .ok());
    return harness_->Send(method, target, sent_body, request.headers.all());
  }
  Reply Send(const std::string& method, const std::string& target, const std::string& body, Payload how) {
    return Send(method, target, body, how, body);
  }

  void SetUp() override {
    const std::string pem = folder_.path() + "/public.pem";
    const std::string file = folder_.path() + "/credentials.yaml";
    ASSERT_TRUE(WriteFileAtomically(pem, key_.PublicPem()).ok());
    ASSERT_TRUE(WriteFileAtomically(file, "oci_keys: [{key_id: t/u/f, public_key_file: " + pem + "}]\n").ok());
    ServeOptions options;
    options.credentials_file = file;
    harness_.emplace(options);
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("oci-signed").value();
  const storage::RsaKey key_ = storage::RsaKey::Generate(2048).value();
  std::optional<Harness> harness_;
};

TEST_F(SignedOci, ABodyIsSignedUnlessItIsContent) {
  const std::string uploads = kBucket + "/u";
  const std::string details = R"({"object":"k"})";
  EXPECT_EQ(Send("POST", uploads, details, Payload::kSigned).status, 200);
  EXPECT_EQ(Send("POST", uploads, details, Payload::kUnsigned).status, 401);
  EXPECT_EQ(Send("POST", uploads, details, Payload::kSigned, R"({"object":"x"})").status, 401);
  EXPECT_EQ(Send("GET", uploads, "", Payload::kUnsigned).status, 200);
  EXPECT_EQ(Send("PUT", kBucket + "/o/k", "content", Payload::kUnsigned).status, 200);
  EXPECT_EQ(Send("PUT", kBucket + "/o/k", "content", Payload::kSigned).status, 200);
  EXPECT_EQ(Send("PUT", kBucket + "/o/k", "content", Payload::kSigned, "CONTENT").status, 400);
  EXPECT_EQ(Send("GET", kBucket + "/o/k", "", Payload::kUnsigned).body, "content");
}

TEST(Oci, RefusesKeysThatAreNoText) {
  Harness harness;
  EXPECT_EQ(harness.Send("PUT", kBucket + "/o/a%00b", "x").status, 400);
  EXPECT_EQ(harness.Send("PUT", kBucket + "/o/%ff", "x").status, 400);
  EXPECT_EQ(harness.Send("POST", kBucket + "/u", R"({"object":"a\u0000b"})").status, 400);
}

TEST(Oci, KeepsPreauthenticatedRequestsInAFileWithoutTheirSecrets) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("preauthenticated").value();
  const std::string path = folder.path() + "/kept.json";
  const PreauthenticatedRequest made{
      .id = "par-1", .name = "n", .bucket = "b", .object = "o", .prefix = "", .read = true, .expires = 4e9};
  std::string secret;
  {
    PreauthenticatedRequests first;
    ASSERT_TRUE(first.UseFile(path).ok());
    secret = first.Add(made).value();
    PreauthenticatedRequest other = made;
    other.id = "par-2";
    ASSERT_TRUE(first.Add(other).ok());
    EXPECT_TRUE(first.Remove("b", "par-2").value());
    EXPECT_FALSE(first.Remove("b", "par-2").value());
  }
  EXPECT_EQ(ReadFile(path).value().find(secret), std::string::npos);
  PreauthenticatedRequests second;
  ASSERT_TRUE(second.UseFile(path).ok());
  ASSERT_EQ(second.In("b").size(), 1u);
  const auto found = second.Find(secret);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id, "par-1");
  EXPECT_TRUE(found->Allows("GetObject", "b", "o"));
  EXPECT_FALSE(found->Allows("PutObject", "b", "o"));
  EXPECT_FALSE(second.Find("guessed").has_value());
  ASSERT_TRUE(WriteFileAtomically(path, "[{\"read\": 7}]").ok());
  EXPECT_FALSE(PreauthenticatedRequests().UseFile(path).ok());
}

TEST(Oci, APreauthenticatedRequestThatCannotBeKeptIsNotMade) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("preauthenticated").value();
  PreauthenticatedRequests requests;
  ASSERT_TRUE(requests.UseFile(folder.path() + "/no/such/folder").ok());
  EXPECT_FALSE(requests.Add({.id = "par-1", .bucket = "b"}).ok());
  EXPECT_TRUE(requests.In("b").empty());
}

TEST(Oci, RefusesPreauthenticatedRequestsThatMakeNoSense) {
  Harness harness;
  const auto refused = [&](const json& details) {
    return harness.Send("POST", kBucket + "/p/", details.dump()).status == 400;
  };
  const json good = {{"name", "n"}, {"accessType", "AnyObjectRead"}, {"timeExpires", "2099-01-01T00:00:00Z"}};
  EXPECT_FALSE(refused(good));
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, std::string>>{{"accessType", "Everything"},
                                                        {"accessType", "ObjectRead"},
                                                        {"timeExpires", "2001-01-01T00:00:00Z"},
                                                        {"timeExpires", "soon"},
                                                        {"name", ""}}) {
    json bad = good;
    bad[field] = value;
    EXPECT_TRUE(refused(bad)) << bad;
  }
  EXPECT_EQ(harness.Send("POST", "/n/assay/b/none/p/", good.dump()).status, 404);
}

}  // namespace
}  // namespace assay::objectserver::oci
