#include "objectserver/gcs/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "objectserver/testing.h"

namespace assay::objectserver::gcs {
namespace {

using nlohmann::json;
using objectserver::testing::Harness;
using objectserver::testing::Reply;

constexpr const char* kUpload = "/upload/storage/v1/b/test/o?uploadType=";

json Body(const Reply& reply) {
  return json::parse(reply.body, nullptr, false);
}

Reply Put(Harness& harness, const std::string& name, const std::string& content, const std::string& more = "") {
  return harness.Send("POST", kUpload + ("media&name=" + name) + more, content);
}

TEST(Gcs, UploadsMediaAndReadsIt) {
  Harness harness;
  const json object = Body(Put(harness, "a%2Fb", "hello"));
  EXPECT_EQ(object["name"], "a/b");
  EXPECT_EQ(object["size"], "5");
  EXPECT_EQ(object["crc32c"], "mnG7TA==");
  EXPECT_EQ(object["md5Hash"], "XUFAKrxLKna5cZ2REBfFkg==");
  const Reply media =
      harness.Send("GET", "/download/storage/v1/b/test/o/a%2Fb?alt=media", "", {{"Range", "bytes=1-3"}});
  EXPECT_EQ(media.status, 206);
  EXPECT_EQ(media.body, "ell");
  EXPECT_EQ(media.Header("x-goog-hash"), "crc32c=mnG7TA==,md5=XUFAKrxLKna5cZ2REBfFkg==");
  EXPECT_EQ(Body(harness.Send("GET", "/storage/v1/b/test/o/a%2Fb"))["generation"], object["generation"]);
  EXPECT_EQ(harness.Send("GET", "/test/a/b").body, "hello") << "the XML dialect";
  EXPECT_EQ(Body(harness.Send("GET", "/storage/v1/b/test/o/none"))["error"]["errors"][0]["reason"], "notFound");
}

TEST(Gcs, UploadsMultipart) {
  Harness harness;
  const std::string body =
      "--xyz\r\nContent-Type: "
      "application/json\r\n\r\n{\"name\":\"k\",\"crc32c\":\"mnG7TA==\",\"metadata\":{\"a\":\"b\"}}\r\n"
      "--xyz\r\nContent-Type: text/x\r\n\r\nhello\r\n--xyz--\r\n";
  const json object = Body(harness.Send("POST", std::string(kUpload) + "multipart", body,
                                        {{"Content-Type", "multipart/related; boundary=\"xyz\""}}));
  EXPECT_EQ(object["contentType"], "text/x");
  EXPECT_EQ(object["metadata"]["a"], "b");
  std::string wrong = body;
  wrong.replace(wrong.find("mnG7TA=="), 8, "AAAAAA==");
  EXPECT_EQ(harness
                .Send("POST", std::string(kUpload) + "multipart", wrong,
                      {{"Content-Type", "multipart/related; boundary=xyz"}})
                .status,
            400);
}

TEST(Gcs, ResumesUploads) {
  Harness harness;
  const Reply begun = harness.Send("POST", std::string(kUpload) + "resumable&name=k&ifGenerationMatch=0");
  const std::string location = begun.Header("Location");
  const std::string session = location.substr(location.find("/upload"));
  const std::string chunk(256 << 10, 'a');
  const auto send = [&](const std::string& content, const std::string& range) {
    return harness.Send("PUT", session, content, {{"Content-Range", range}});
  };
  EXPECT_EQ(send("short", "bytes 0-4/*").status, 400);
  EXPECT_EQ(send("", "bytes */*").Header("Range"), "");
  EXPECT_EQ(send(chunk, "bytes 0-262143/*").status, 308);
  EXPECT_EQ(send("", "bytes */*").Header("Range"), "bytes=0-262143");
  EXPECT_EQ(send("x", "bytes 300000-300000/300001").status, 400);
  const Reply again = send(chunk + chunk, "bytes 0-524287/*");
  EXPECT_EQ(again.status, 308);
  EXPECT_EQ(again.Header("Range"), "bytes=0-524287") << "what was there already is dropped";
  const Reply done = send("tail", "bytes 524288-524291/524292");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(harness.Send("GET", "/test/k").body, chunk + chunk + "tail");
  EXPECT_EQ(Body(send("", "bytes */524292"))["name"], "k") << "asked again";
  const std::string crc32c = Body(done)["crc32c"];
  const std::string whole = chunk + chunk + "tail";
  EXPECT_EQ(crc32c, storage::ChecksumOf(storage::ChecksumKind::kCrc32c, std::as_bytes(std::span(whole))).Base64());
}

TEST(Gcs, ASessionsAddressIsItsOwnProof) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("gcs-sessions").value();
  const std::string file = folder.path() + "/credentials.yaml";
  ASSERT_TRUE(WriteFileAtomically(file, "tokens: [secret]\n").ok());
  ServeOptions options;
  options.credentials_file = file;
  Harness harness(options);
  const http::Header token = {"Authorization", "Bearer secret"};
  const auto begin = [&] {
    const std::string location =
        harness.Send("POST", std::string(kUpload) + "resumable&name=k", "", {token}).Header("Location");
    return location.substr(std::min(location.find("/upload"), location.size()));
  };
  EXPECT_EQ(harness.Send("POST", std::string(kUpload) + "resumable&name=k").status, 401);
  const std::string session = begin();
  EXPECT_EQ(harness.Send("PUT", session, "", {{"Content-Range", "bytes */*"}}).status, 308);
  EXPECT_EQ(harness.Send("PUT", session, "hello", {{"Content-Range", "bytes 0-4/5"}}).status, 200);
  EXPECT_EQ(harness.Send("PUT", session, "", {{"Content-Range", "bytes */5"}}).status, 200) << "the answer was lost";
  EXPECT_EQ(harness.Send("DELETE", begin()).status, 499);
  EXPECT_EQ(harness.Send("GET", "/storage/v1/b/test/o/k?alt=media").status, 401);
  EXPECT_EQ(harness.Send("GET", "/storage/v1/b/test/o/k?alt=media&upload_id=x").status, 401);

  Upload other;  // as the XML dialect begins one: lists show its id
  other.key = "k";
  const std::string id = harness.store().CreateUpload("test", other).message;
  const std::string guessed = std::string(kUpload) + "resumable&name=new&upload_id=" + id;
  EXPECT_EQ(harness.Send("PUT", guessed, "hello", {{"Content-Range", "bytes 0-4/5"}}).status, 404);
  EXPECT_EQ(harness.Send("DELETE", guessed).status, 404);
  EXPECT_EQ(harness.store().Uploads("test").size(), 1u);
  ObjectRecord made;
  made.key = "k";
  made.parts.emplace_back();
  ASSERT_TRUE(harness.store().CompleteUpload("test", id, made, {}).ok());
  const std::string completed = std::string(kUpload) + "resumable&name=k&upload_id=" + id;
  EXPECT_EQ(harness.Send("PUT", completed, "", {{"Content-Range", "bytes */0"}}).status, 404);
}

TEST(Gcs, CompletesASessionWhosePartsCameByAnotherDialect) {
  Harness harness;
  const std::string id = harness.Send("POST", std::string(kUpload) + "resumable&name=k").Header("X-GUploader-UploadID");
  const std::string sha256 =
      storage::ChecksumOf(storage::ChecksumKind::kSha256, std::as_bytes(std::span("hello", 5))).Base64();
  ASSERT_EQ(
      harness.Send("PUT", "/test/k?partNumber=1&uploadId=" + id, "hello", {{"x-amz-checksum-sha256", sha256}}).status,
      200);
  const Reply done = harness.Send("PUT", std::string(kUpload) + "resumable&name=k&upload_id=" + id, "",
                                  {{"Content-Range", "bytes */5"}});
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(Body(done)["crc32c"], "mnG7TA==");
}

TEST(Gcs, RefusesKeysThatAreNoText) {
  Harness harness;
  EXPECT_EQ(Put(harness, "a%00b", "x").status, 400);
  EXPECT_EQ(Put(harness, "%ff", "x").status, 400);
  EXPECT_EQ(harness.Send("POST", std::string(kUpload) + "resumable&name=%ff").status, 400);
}

TEST(Gcs, HoldsToPreconditions) {
  Harness harness;
  const std::string generation = Body(Put(harness, "k", "one"))["generation"];
  EXPECT_EQ(Put(harness, "k", "two", "&ifGenerationMatch=0").status, 412);
  EXPECT_EQ(Put(harness, "new", "two", "&ifGenerationMatch=0").status, 200);
  EXPECT_EQ(harness.Send("GET", "/storage/v1/b/test/o/k?ifGenerationNotMatch=" + generation).status, 304);
  EXPECT_EQ(harness.Send("GET", "/storage/v1/b/test/o/k?generation=7").status, 404);
  EXPECT_EQ(harness.Send("DELETE", "/storage/v1/b/test/o/k?ifGenerationMatch=7").status, 412);
  EXPECT_EQ(Put(harness, "k", "two", "&ifGenerationMatch=" + generation).status, 200);
  EXPECT_EQ(harness.Send("DELETE", "/storage/v1/b/test/o/k").status, 204);
}

TEST(Gcs, ComposesRewritesAndLists) {
  Harness harness;
  Put(harness, "a", "12");
  Put(harness, "b", "345");
  const json composed = Body(harness.Send("POST", "/storage/v1/b/test/o/c%2Fd/compose",
                                          R"({"sourceObjects":[{"name":"a"},{"name":"b"},{"name":"a"}]})"));
  EXPECT_EQ(composed["componentCount"], 3);
  EXPECT_EQ(composed["crc32c"],
            storage::ChecksumOf(storage::ChecksumKind::kCrc32c, std::as_bytes(std::span("1234512", 7))).Base64());
  EXPECT_EQ(harness.Send("GET", "/storage/v1/b/test/o/c%2Fd?alt=media").body, "1234512");
  const json rewritten = Body(harness.Send("POST", "/storage/v1/b/test/o/a/rewriteTo/b/test/o/z", "{}"));
  EXPECT_EQ(rewritten["done"], true);
  const json page = Body(harness.Send("GET", "/storage/v1/b/test/o?delimiter=%2F&maxResults=2"));
  EXPECT_EQ(page["items"].size(), 2u);
  const json rest = Body(harness.Send(
      "GET", "/storage/v1/b/test/o?delimiter=%2F&maxResults=2&pageToken=" + page["nextPageToken"].get<std::string>()));
  EXPECT_EQ(rest["prefixes"], json::array({"c/"}));
  EXPECT_EQ(rest["items"][0]["name"], "z");
  const json some = Body(harness.Send("GET", "/storage/v1/b/test/o?startOffset=b&endOffset=d"));
  EXPECT_EQ(some["items"].size(), 2u);
  EXPECT_EQ(Body(harness.Send("PATCH", "/storage/v1/b/test/o/a", R"({"metadata":{"k":"v"}})"))["metageneration"], "2");
}

TEST(Gcs, GivesTokens) {
  Harness harness;
  const json token = Body(harness.Send(
      "POST", "/token", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c"));
  EXPECT_EQ(token["token_type"], "Bearer");
  EXPECT_EQ(harness.Send("POST", "/token", "grant_type=password").status, 400);
  EXPECT_EQ(harness.Send("POST", "/token", std::string(5 << 20, 'x')).status, 413) << "nobody has proved anything";
}

}  // namespace
}  // namespace assay::objectserver::gcs
