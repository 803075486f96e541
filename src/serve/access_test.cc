#include "serve/access.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace assay::serve {
namespace {

using http::RequestHead;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kPort = 4000;
const std::vector<http::Header> kNavigation = {
    {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}};

RequestHead Ask(const std::string& target, std::vector<http::Header> headers = {}, const std::string& method = "GET") {
  RequestHead head;
  head.method = method;
  head.target = target;
  head.headers.Add("Host", "127.0.0.1:4000");
  for (const http::Header& header : headers) {
    head.headers.Set(header.name, header.value);
  }
  return head;
}

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() { access_.SetPort(kPort); }

  /// 200 stands for what is let through.
  int StatusOf(const RequestHead& head) {
    const auto answer = access_.Check(head);
    return answer ? answer->status : 200;
  }
  /// Opens the link; what it gives is a cookie, and a key.
  std::string Cookie() {
    const auto answer = access_.Check(Ask(access_.StartPath()));
    EXPECT_TRUE(answer);
    key_ = KeyIn(*answer);
    const std::string text(answer->headers.Find("Set-Cookie").value_or(""));
    return text.substr(0, text.find(';'));
  }
  static std::string KeyIn(const http::ServerResponse& answer) {
    const std::string address(answer.headers.Find("Location").value_or(""));
    EXPECT_THAT(address, StartsWith("/#?key="));
    return address.substr(address.find("key="));
  }

  std::string key_;
  std::vector<std::string> links_;
  Access access_{{.hosts = {"127.0.0.1", "localhost", "[::1]"},
                  .on_next_link = [this](const std::string& path) { links_.push_back(path); }}};
};

TEST_F(AccessTest, NobodyIsLetInWithoutACookie) {
  EXPECT_EQ(StatusOf(Ask("/")), 401);
  EXPECT_EQ(StatusOf(Ask("/api/v1/subjects")), 401);
  EXPECT_EQ(StatusOf(Ask("/", {{"Cookie", "assay_4000="}})), 401);
  EXPECT_EQ(StatusOf(Ask("/", {{"Cookie", "assay_4000=0123456789abcdef0123456789abcdef"}})), 401);
  EXPECT_EQ(StatusOf(Ask("/", {{"Authorization", "Bearer "}})), 401);
}

TEST_F(AccessTest, ALinkOpensOnceAndThenThereIsAnother) {
  const std::string path = access_.StartPath();
  const auto answer = access_.Check(Ask(path));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  const std::string cookie(answer->headers.Find("Set-Cookie").value_or(""));
  EXPECT_THAT(cookie, HasSubstr("; Path=/; HttpOnly; SameSite=Strict"));
  EXPECT_EQ(StatusOf(Ask("/", {{"Cookie", "a=b; " + cookie.substr(0, cookie.find(';'))}})), 200);
  EXPECT_EQ(StatusOf(Ask(path)), 403);
  EXPECT_THAT(links_, ElementsAre(access_.StartPath()));
  EXPECT_EQ(StatusOf(Ask(links_.front())), 303);
}

TEST_F(AccessTest, WhatWasMeasuredTakesTheKeyBesideTheCookie) {
  const std::string cookie = Cookie();
  const std::string path = "/api/v1/subjects";
  EXPECT_EQ(StatusOf(Ask(path + "?" + key_, {{"Cookie", cookie}})), 200);
  EXPECT_EQ(StatusOf(Ask(path + "?a=b&" + key_, {{"Cookie", cookie}})), 200);
  EXPECT_EQ(StatusOf(Ask(path + "?" + key_)), 401);
  for (const std::string& wrong : {std::string(), std::string("?key="), "?" + key_ + "0", "?x" + key_,
                                   "?key=" + cookie.substr(cookie.find('=') + 1)}) {
    EXPECT_EQ(StatusOf(Ask(path + wrong, {{"Cookie", cookie}})), 401) << wrong;
  }
}

TEST_F(AccessTest, WhoOnlyLooksAtALinkDoesNotUseItUp) {
  EXPECT_EQ(StatusOf(Ask(access_.StartPath(), {}, "HEAD")), 405);
  EXPECT_EQ(StatusOf(Ask(access_.StartPath())), 303);
}

TEST_F(AccessTest, ALinkThatAnotherSiteHasLeadsInByAPageOfOurs) {
  const auto answer = access_.Check(Ask(access_.StartPath(), kNavigation));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_TRUE(answer->headers.Has("Set-Cookie"));
}

TEST_F(AccessTest, ALinkOfAnotherSiteLeadsWhoHasTheCookieToThePageByAScriptOfOurs) {
  const std::string cookie = Cookie();
  const auto page = access_.Check(Ask("/", kNavigation));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 401);
  EXPECT_EQ(page->headers.Find("Content-Type"), "text/html; charset=utf-8");
  for (const char* path : {"/assets/inside.js", "/inside"}) {
    EXPECT_EQ(StatusOf(Ask(path, {{"Sec-Fetch-Site", "same-origin"}})), 401) << path;
    EXPECT_EQ(StatusOf(Ask(path, kNavigation)), 403) << path;
  }
  const auto script = access_.Check(Ask("/assets/inside.js", {{"Cookie", cookie}}));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->headers.Find("Content-Type"), "text/javascript; charset=utf-8");
  const auto inside = access_.Check(Ask("/inside", {{"Cookie", cookie}, {"Sec-Fetch-Site", "same-origin"}}));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->status, 303);
  EXPECT_EQ(inside->headers.Find("Location"), "/");
}

TEST_F(AccessTest, GuessesOfLinksAreRefused) {
  const std::string path = access_.StartPath();
  for (const std::string& guess : {std::string("/start/"), std::string("/start"), path + "0", path.substr(0, 20),
                                   std::string("/start/../") + path}) {
    EXPECT_GE(StatusOf(Ask(guess)), 401) << guess;
  }
  EXPECT_TRUE(links_.empty());
}

TEST_F(AccessTest, NothingButGetAndHead) {
  const std::string cookie = Cookie();
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND"}) {
    const auto answer = access_.Check(Ask("/", {{"Cookie", cookie}}, method));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 405) << method;
    EXPECT_EQ(answer->headers.Find("Allow"), "GET, HEAD");
  }
  EXPECT_EQ(StatusOf(Ask("/", {{"Cookie", cookie}}, "HEAD")), 200);
}

TEST_F(AccessTest, OnlyKnownNamesOfTheHost) {
  const std::string cookie = Cookie();
  const auto status = [&](const std::string& host) { return StatusOf(Ask("/", {{"Cookie", cookie}, {"Host", host}})); };
  for (const char* host : {"127.0.0.1:4000", "localhost:4000", "LocalHost:4000", "[::1]:4000"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  for (const char* host :
       {"evil.example:4000", "localhost", "localhost:4001", "localhost:4000.evil.example", "localhost.:4000",
        "evil@localhost:4000", "127.0.0.1:4000, evil", "", ":4000", "2130706433:4000", "127.1:4000"}) {
    EXPECT_EQ(status(host), 403) << host;
  }
}

TEST_F(AccessTest, PagesOfOtherSitesGetNothing) {
  const std::string cookie = Cookie();
  const auto status = [&](const std::string& target, std::vector<http::Header> headers) {
    headers.push_back({"Cookie", cookie});
    return StatusOf(Ask(target, std::move(headers)));
  };
  EXPECT_EQ(status("/api/v1/subjects?" + key_, {{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(status("/", {{"Sec-Fetch-Site", "none"}}), 200);
  EXPECT_EQ(status("/api/v1/subjects", {{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status("/assets/report.js", {{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(status("/api/v1/subjects", kNavigation), 403);
  EXPECT_EQ(
      status("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}}),
      403);
  EXPECT_EQ(status("/api/v1/subjects", {{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status("/api/v1/subjects", {{"Origin", "null"}}), 403);
  EXPECT_EQ(status("/api/v1/subjects?" + key_, {{"Origin", "http://127.0.0.1:4000"}}), 200);
}

TEST_F(AccessTest, ATokenOpensAsOftenAsOneLikesAndWhatItGaveIsOfOneProcess) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  Access access({.hosts = {"127.0.0.1"}, .token = token});
  access.SetPort(kPort);
  EXPECT_EQ(access.StartPath(), "/start/" + token);
  std::string cookies[2];
  for (std::string& cookie : cookies) {
    const auto answer = access.Check(Ask(access.StartPath()));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 303);
    cookie = answer->headers.Find("Set-Cookie").value_or("");
    cookie.resize(cookie.find(';'));
    EXPECT_THAT(cookie, Not(HasSubstr(token)));
  }
  EXPECT_FALSE(access.Check(Ask("/", {{"Authorization", "Bearer " + token}})));
  EXPECT_TRUE(access.Check(Ask("/", {{"Authorization", "Bearer " + token + "0"}})));
  Access restarted({.hosts = {"127.0.0.1"}, .token = token});
  restarted.SetPort(kPort);
  EXPECT_FALSE(access.Check(Ask("/", {{"Cookie", cookies[1]}})));
  const auto stranger = restarted.Check(Ask("/", {{"Cookie", cookies[1]}}));
  ASSERT_TRUE(stranger);
  EXPECT_EQ(stranger->status, 401);
  EXPECT_NE(KeyIn(*restarted.Check(Ask(restarted.StartPath()))), KeyIn(*access.Check(Ask(access.StartPath()))));
}

TEST(AccessByATunnelTest, ANameMayHaveAPortOfItsOwn) {
  Access access({.hosts = {"127.0.0.1", "localhost:8000", "pages.example:443", "[::1]:9000"}});
  access.SetPort(kPort);
  const auto status = [&](std::string_view host) {
    http::RequestHead head = Ask(access.StartPath());
    head.headers.Set("Host", host);
    return access.Check(head)->status;
  };
  for (const char* host :
       {"127.0.0.1:4000", "localhost:8000", "LOCALHOST:8000", "pages.example", "pages.example:443", "[::1]:9000"}) {
    EXPECT_EQ(status(host), 303) << host;
  }
  for (const char* host :
       {"127.0.0.1:8000", "localhost:4000", "localhost", "pages.example:4000", "[::1]:4000", "[::1]", "127.0.0.1"}) {
    EXPECT_EQ(status(host), 403) << host;
  }
}

TEST(AccessOfTheUsualPortTest, HostsNeedNotNameIt) {
  Access access({.hosts = {"127.0.0.1"}});
  access.SetPort(80);
  const auto status = [&](std::string_view host) {
    http::RequestHead head = Ask(access.StartPath());
    head.headers.Set("Host", host);
    return access.Check(head)->status;
  };
  EXPECT_EQ(status("127.0.0.1:8080"), 403);
  EXPECT_EQ(status("evil.example"), 403);
  EXPECT_EQ(status("127.0.0.1"), 303);
}

}  // namespace
}  // namespace assay::serve
