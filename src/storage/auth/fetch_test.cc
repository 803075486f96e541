#include "storage/auth/fetch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>

#include "http/server.h"
#include "storage/auth/credential_address.h"

namespace assay::storage {
namespace {

Reach ReachOfText(const std::string& url) {
  const auto parsed = http::ParseUrl(url);
  EXPECT_TRUE(parsed.has_value()) << url;
  return ReachOf(*parsed);
}

TEST(CredentialAddress, IsKnownByItsText) {
  for (const char* url : {"http://127.0.0.1/", "http://127.9.9.9:80/x", "http://localhost:1", "http://[::1]/"}) {
    EXPECT_EQ(ReachOfText(url), Reach::kLoopback) << url;
  }
  for (const char* url :
       {"http://169.254.169.254/", "http://169.254.170.2/x", "http://169.254.170.23/", "http://[fd00:ec2::254]/",
        "http://[fd00:ec2::23]/", "http://[fd20:ce::254]/", "http://[fe80::1]/", "http://metadata.google.internal/x"}) {
    EXPECT_EQ(ReachOfText(url), Reach::kMetadata) << url;
  }
  for (const char* url : {"http://example.com/", "http://127.example.com/", "http://169.254.example.com/",
                          "http://127.0.0.1.example.com/", "http://localhost.example.com/", "http://10.0.0.1/",
                          "http://127.1/", "http://[fd00::1]/", "http://metadata.google.internal.example.com/"}) {
    EXPECT_EQ(ReachOfText(url), Reach::kElsewhere) << url;
    EXPECT_FALSE(CheckCredentialAddress(*http::ParseUrl(url)).ok()) << url;
  }
  EXPECT_TRUE(CheckCredentialAddress(*http::ParseUrl("https://example.com/")).ok());
}

/// A server that counts what comes, and stands in the environment as the proxy for everything.
class FetchBehindAProxy : public testing::Test {
 protected:
  void SetUp() override {
    auto server = http::Server::Start({}, http::WholeBody([this](const http::RequestHead&, std::string_view) {
                                        ++requests_;
                                        return http::TextResponse(200, "answered");
                                      }));
    ASSERT_TRUE(server.ok());
    server_ = *std::move(server);
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) {
      ::setenv(name, server_->url().c_str(), 1);
    }
    ::setenv("no_proxy", "", 1);
    ::setenv("AWS_METADATA_SERVICE_TIMEOUT", "0.05", 1);
  }
  void TearDown() override {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "AWS_METADATA_SERVICE_TIMEOUT"}) {
      ::unsetenv(name);
    }
  }
  static Result<http::Response> Ask(const std::string& url, const FetchOptions& options = {}) {
    http::Request request;
    request.url = url;
    return MakeFetch(options)(request);
  }

  std::unique_ptr<http::Server> server_;
  std::atomic<int> requests_ = 0;
};

TEST_F(FetchBehindAProxy, MetadataServicesAreAskedDirectly) {
  FetchOptions named;
  named.proxy = server_->url();
  for (const FetchOptions& options : {FetchOptions(), named}) {
    // Whether anything answers there is not ours to say.
    (void)Ask("http://169.254.169.254/latest/api/token", options);
    (void)Ask("http://169.254.170.2/v2/credentials", options);
    (void)Ask("http://[fd00:ec2::254]/latest/api/token", options);
  }
  EXPECT_EQ(requests_, 0);
}

TEST_F(FetchBehindAProxy, ThisMachineIsAskedDirectly) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto answer = Ask(server_->url() + "/credentials");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(requests_, 1);
}

TEST_F(FetchBehindAProxy, PlainHttpToElsewhereIsRefused) {
  const auto answer = Ask("http://sts.example.com/");
  EXPECT_EQ(answer.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(answer.status().message().find("by https only"), std::string::npos) << answer.status().message();
  EXPECT_EQ(requests_, 0);
}

}  // namespace
}  // namespace assay::storage
