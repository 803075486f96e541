#include "storage/auth/sigv4_verify.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

constexpr double kServerTime = 1'700'000'000;

std::optional<SigV4Secret> Lookup(std::string_view access_key_id) {
  if (access_key_id == "AKID/slash") {
    return SigV4Secret{"secret", "", 0};
  }
  if (access_key_id == "SESSION") {
    return SigV4Secret{"secret", "token", kServerTime + 100};
  }
  return std::nullopt;
}

// A client's request, and as the server sees it.
class Verify : public testing::Test {
 protected:
  SigV4Key Key(std::string id = "AKID/slash", std::string secret = "secret", double at = kServerTime) {
    SigV4Key key{std::move(id), "", {SigV4Timestamp(at).substr(0, 8), "eu-west-1", "s3"}, {}};
    key.signing_key = SigningKey(*dialect, secret, key.scope);
    return key;
  }

  void Sign(const SigV4Key& key, double at = kServerTime, std::string_view hash = kUnsignedPayload) {
    request.headers.Set("Host", "bucket.example.com:9000");
    ASSERT_TRUE(SignHeaders(*dialect, key, SigV4Timestamp(at), hash, request));
  }

  SigV4Verdict Check(double now = kServerTime) {
    const auto url = *http::ParseUrl(request.url);
    return VerifySigV4({request.method, url.path, url.query, &request.headers}, Lookup,
                       {.region = "eu-west-1", .now = now});
  }

  const SigV4Dialect* dialect = &kAws4Hmac;
  http::Request request{.method = "PUT",
                        .url = "http://bucket.example.com:9000/a%20b/%C3%A9?partNumber=1&uploadId=x%2By",
                        .headers = {},
                        .body = {}};
};

TEST_F(Verify, AcceptsWhatASignerSigned) {
  Sign(Key());
  const SigV4Verdict verdict = Check();
  ASSERT_EQ(verdict.kind, SigV4Verdict::Kind::kAccepted) << verdict.message << verdict.canonical_request;
  EXPECT_EQ(verdict.identity.key.access_key_id, "AKID/slash");
  EXPECT_EQ(verdict.identity.payload_hash, kUnsignedPayload);
  EXPECT_FALSE(verdict.identity.presigned);
}

TEST_F(Verify, AcceptsTheGoogleDialect) {
  dialect = &kGoog4Hmac;
  Sign(Key());
  const SigV4Verdict verdict = Check();
  EXPECT_EQ(verdict.kind, SigV4Verdict::Kind::kAccepted) << verdict.message;
}

TEST_F(Verify, RequestsWithoutProofAreAnonymous) {
  EXPECT_EQ(Check().kind, SigV4Verdict::Kind::kAnonymous);
}

TEST_F(Verify, RefusesEveryChange) {
  Sign(Key());
  const http::Request original = request;
  const auto refused = [&] {
    const bool yes = Check().code == "SignatureDoesNotMatch";
    request = original;
    return yes;
  };
  request.method = "GET";
  EXPECT_TRUE(refused());
  request.url += "&acl";
  EXPECT_TRUE(refused());
  request.url.replace(request.url.find("/a%20b"), 6, "/a%20c");
  EXPECT_TRUE(refused());
  request.headers.Set("Host", "bucket.example.com");
  EXPECT_TRUE(refused());
  request.headers.Set("x-amz-content-sha256", kEmptyPayloadHash);
  EXPECT_TRUE(refused());
  EXPECT_EQ(Check().kind, SigV4Verdict::Kind::kAccepted);
}

TEST_F(Verify, RefusesTheWrongSecretAndTheUnknownKey) {
  Sign(Key("AKID/slash", "other"));
  SigV4Verdict verdict = Check();
  EXPECT_EQ(verdict.code, "SignatureDoesNotMatch");
  EXPECT_EQ(verdict.http_status, 403);
  EXPECT_NE(verdict.canonical_request.find("/a%20b"), std::string::npos);
  Sign(Key("nobody"));
  EXPECT_EQ(Check().code, "InvalidAccessKeyId");
}

TEST_F(Verify, RefusesTheWrongTimeAndRegion) {
  Sign(Key());
  EXPECT_EQ(Check(kServerTime + 899).kind, SigV4Verdict::Kind::kAccepted);
  EXPECT_EQ(Check(kServerTime + 901).code, "RequestTimeTooSkewed");
  EXPECT_EQ(Check(kServerTime - 901).code, "RequestTimeTooSkewed");
  SigV4Key key = Key();
  key.scope.region = "us-east-1";
  Sign(key);
  const SigV4Verdict verdict = Check();
  EXPECT_EQ(verdict.code, "AuthorizationHeaderMalformed");
  EXPECT_NE(verdict.message.find("expecting 'eu-west-1'"), std::string::npos);
}

TEST_F(Verify, RefusesUnsignedHeadersOfTheStore) {
  Sign(Key());
  request.headers.Add("x-amz-acl", "public-read");
  EXPECT_EQ(Check().code, "AccessDenied");
}

TEST_F(Verify, ChecksSessions) {
  SigV4Key key = Key("SESSION");
  Sign(key);
  EXPECT_EQ(Check().code, "InvalidToken");
  key.session_token = "token";
  Sign(key);
  EXPECT_EQ(Check().kind, SigV4Verdict::Kind::kAccepted);
  EXPECT_EQ(Check(kServerTime + 100).code, "ExpiredToken");
}

TEST_F(Verify, RefusesMalformedProofs) {
  for (const char* authorization :
       {"AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=x",
        "AWS4-HMAC-SHA256 Credential=/////,SignedHeaders=,Signature=",
        "AWS4-HMAC-SHA256 Credential=AKID/20231114/r/s3/aws4_request, SignedHeaders=host"}) {
    request.headers.Set("Authorization", authorization);
    EXPECT_EQ(Check().code, "AuthorizationHeaderMalformed") << authorization;
  }
  request.headers.Set("Authorization", "AWS AKID:signature");
  EXPECT_EQ(Check().code, "InvalidRequest");
  request.headers.Set("Authorization", "Basic eDp5");
  EXPECT_EQ(Check().code, "InvalidArgument");
}

TEST_F(Verify, WantsAPayloadHash) {
  Sign(Key(), kServerTime, "neither");
  EXPECT_EQ(Check().code, "InvalidArgument");
  request.headers.Remove("x-amz-content-sha256");
  EXPECT_EQ(Check().code, "InvalidRequest");
}

TEST_F(Verify, ChecksPresignedUrls) {
  request.url = PresignUrl(kAws4Hmac, Key(), SigV4Timestamp(kServerTime), 60, request);
  request.headers.Set("Host", "bucket.example.com:9000");
  SigV4Verdict verdict = Check();
  ASSERT_EQ(verdict.kind, SigV4Verdict::Kind::kAccepted) << verdict.message << verdict.canonical_request;
  EXPECT_TRUE(verdict.identity.presigned);
  EXPECT_EQ(Check(kServerTime + 61).message, "Request has expired");
  EXPECT_EQ(Check(kServerTime - 1000).code, "AccessDenied");
  request.url += "0";
  EXPECT_EQ(Check().code, "SignatureDoesNotMatch");
  request.url = "http://bucket.example.com:9000/a?X-Amz-Signature=00";
  EXPECT_EQ(Check().code, "AuthorizationQueryParametersError");
}

TEST_F(Verify, ChecksPresignedUrlsWhoseQueryEndsInAQuestionMark) {
  request.url = "http://bucket.example.com:9000/a?what?";
  request.url = PresignUrl(kAws4Hmac, Key(), SigV4Timestamp(kServerTime), 60, request);
  request.headers.Set("Host", "bucket.example.com:9000");
  EXPECT_EQ(Check().kind, SigV4Verdict::Kind::kAccepted);
}

TEST_F(Verify, BoundsTheLifeOfPresignedUrls) {
  request.url = PresignUrl(kAws4Hmac, Key(), SigV4Timestamp(kServerTime), 604801, request);
  request.headers.Set("Host", "bucket.example.com:9000");
  EXPECT_EQ(Check().code, "AuthorizationQueryParametersError");
}

TEST_F(Verify, ChecksChunksInOrder) {
  Sign(Key(), kServerTime, kStreamingSignedTrailer);
  const SigV4Verdict verdict = Check();
  ASSERT_EQ(verdict.kind, SigV4Verdict::Kind::kAccepted);
  const std::string time = verdict.identity.timestamp;
  const std::string first = ChunkSignature(Key(), time, verdict.identity.signature, Sha256("hello"));
  const std::string last = ChunkSignature(Key(), time, first, Sha256(""));
  const std::string trailers = "x-amz-checksum-crc32c:AAAAAA==\n";
  ChunkVerifier verifier(verdict.identity);
  verifier.Update(std::as_bytes(std::span(std::string_view("he"))));
  verifier.Update(std::as_bytes(std::span(std::string_view("llo"))));
  EXPECT_TRUE(verifier.FinishChunk(first));
  EXPECT_TRUE(verifier.FinishChunk(last));
  EXPECT_TRUE(verifier.CheckTrailer(trailers, TrailerSignature(Key(), time, last, trailers)));
  EXPECT_FALSE(
      verifier.CheckTrailer("x-amz-checksum-crc32c:AAAAAQ==\n", TrailerSignature(Key(), time, last, trailers)));
  ChunkVerifier again(verdict.identity);
  again.Update(std::as_bytes(std::span(std::string_view("hellO"))));
  EXPECT_FALSE(again.FinishChunk(first));
}

}  // namespace
}  // namespace assay::storage
