#include "objectserver/oci/dialect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "objectserver/testing.h"

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
  EXPECT_EQ(commit(first).status, 200);
  EXPECT_EQ(harness.Send("GET", kBucket + "/o/big").body, "onetwo");
}

}  // namespace
}  // namespace assay::objectserver::oci
