// Signers out of options and the environment.
#include <gtest/gtest.h>

#include <map>

#include "storage/gcs/gcs_signer.h"
#include "storage/oci/oci_signer.h"
#include "storage/s3/s3_signer.h"

namespace assay::storage {
namespace {

Environment EmptyEnvironment(std::map<std::string, std::string> variables) {
  return {[](const http::Request&) -> Result<http::Response> { return Status::Io("no network"); },
          [variables](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found != variables.end() ? std::optional(found->second) : std::nullopt;
          },
          [] { return 1.7e9; }};
}

TEST(Signers, SettingsComeFromOptionsFirst) {
  const Environment environment = EmptyEnvironment(
      {{"HOME", "/nowhere"}, {"AWS_REGION", "eu-west-3"}, {"AWS_ENDPOINT_URL", "http://a"}, {"OCI_CLI_REGION", "x"}});
  StoreOptions options;
  EXPECT_EQ(ResolveAwsSettings(options, environment)->region, "eu-west-3");
  EXPECT_EQ(ResolveAwsSettings(options, environment)->endpoint, "http://a");
  EXPECT_EQ(ResolveOciSettings(options, environment)->region, "x");
  options.region = "us-east-2";
  options.endpoint = "http://b";
  EXPECT_EQ(ResolveAwsSettings(options, environment)->region, "us-east-2");
  EXPECT_EQ(ResolveAwsSettings(options, environment)->endpoint, "http://b");
  EXPECT_EQ(ResolveOciSettings(options, environment)->region, "us-east-2");
}

TEST(Signers, AnonymousSignersLeaveRequestsAsTheyAre) {
  StoreOptions options;
  options.anonymous = true;
  const Environment environment = EmptyEnvironment({});
  for (auto make : {&MakeGcsSigner, &MakeOciSigner}) {
    auto signer = make(options, environment);
    ASSERT_TRUE(signer.ok());
    ASSERT_TRUE((*signer)->Prepare().ok());
    http::Request request;
    EXPECT_TRUE((*signer)->Sign(request, "").ok());
    EXPECT_TRUE(request.headers.all().empty());
  }
}

TEST(Signers, WithoutNetworkTheChainSaysSo) {
  auto signer = MakeS3Signer({}, "", EmptyEnvironment({{"HOME", "/nowhere"}}));
  ASSERT_TRUE(signer.ok());
  const Status status = (*signer)->Prepare();
  EXPECT_EQ(status.code(), ErrorCode::kPermissionDenied);
  EXPECT_NE(status.message().find("no network"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace assay::storage
