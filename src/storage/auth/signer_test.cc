#include <gtest/gtest.h>

#include "storage/auth/sigv4_signer.h"
#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

constexpr double kNow = 1'700'000'000;

SigV4Signer MakeSigner(double* now) {
  return SigV4Signer(
      {.dialect = &kAws4Hmac, .region = "eu-west-1", .service = "s3"},
      [] {
        return AwsCredentials{.access_key_id = "AKID",
                              .secret_access_key = "secret",
                              .session_token = {},
                              .expires = 0,
                              .source = "the test"};
      },
      [now] { return *now; });
}

std::string DateOf(SigV4Signer& signer) {
  http::Request request;
  request.url = "http://b.example/k";
  EXPECT_TRUE(signer.Sign(request, kUnsignedPayload).ok());
  return std::string(request.headers.Find("x-amz-date").value_or(""));
}

TEST(SigV4Signer, WantsCredentialsFirst) {
  double now = kNow;
  SigV4Signer signer = MakeSigner(&now);
  http::Request request;
  request.url = "http://b.example/k";
  EXPECT_EQ(signer.Sign(request, kUnsignedPayload).code(), ErrorCode::kInternal);
}

TEST(SigV4Signer, DatesByTheStoresClockOnceItIsKnown) {
  double now = kNow;
  SigV4Signer signer = MakeSigner(&now);
  ASSERT_TRUE(signer.Prepare().ok());
  EXPECT_EQ(DateOf(signer), SigV4Timestamp(kNow));
  signer.CorrectClock(HttpDate(kNow + 3600));
  now = kNow + 10;
  EXPECT_EQ(DateOf(signer), SigV4Timestamp(kNow + 3610));
  signer.CorrectClock("no date");
  EXPECT_EQ(DateOf(signer), SigV4Timestamp(kNow + 3610));
}

TEST(SigV4Signer, TakesANewKeyEachDay) {
  double now = kNow;
  SigV4Signer signer = MakeSigner(&now);
  ASSERT_TRUE(signer.Prepare().ok());
  http::Request request;
  request.url = "http://b.example/k";
  for (const double day : {0.0, 86400.0, 2 * 86400.0}) {
    now = kNow + day;
    ASSERT_TRUE(signer.Sign(request, kUnsignedPayload).ok());
    SigV4Key key{"AKID", "", {SigV4Timestamp(now).substr(0, 8), "eu-west-1", "s3"}, {}};
    key.signing_key = SigningKey(kAws4Hmac, "secret", key.scope);
    http::Request expected;
    expected.url = "http://b.example/k";
    ASSERT_TRUE(SignHeaders(kAws4Hmac, key, SigV4Timestamp(now), kUnsignedPayload, expected));
    EXPECT_EQ(request.headers.Find("authorization"), expected.headers.Find("authorization"));
  }
}

TEST(SigV4Signer, BoundsPresignedUrls) {
  double now = kNow;
  SigV4Signer signer = MakeSigner(&now);
  ASSERT_TRUE(signer.Prepare().ok());
  http::Request request;
  request.url = "http://b.example/k";
  EXPECT_TRUE(signer.Presign(request, 604800).ok());
  EXPECT_FALSE(signer.Presign(request, 604801).ok());
  EXPECT_FALSE(signer.Presign(request, 0).ok());
  request.url = "k";
  EXPECT_FALSE(signer.Presign(request, 60).ok());
}

}  // namespace
}  // namespace assay::storage
