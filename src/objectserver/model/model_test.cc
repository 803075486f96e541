#include "objectserver/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "objectserver/model/modelled_exchange.h"
#include "objectserver/testing.h"

namespace assay::objectserver {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const Result<Profile> profile = ParseProfile(text, "p.yaml");
  return profile.ok() ? "" : profile.status().message();
}

TEST(Profile, SaysWhereItIsMalformed) {
  EXPECT_THAT(ErrorOf("latency:\n  rea: {median: 1ms, p99: 2ms}\n"),
              ::testing::AllOf(HasSubstr("p.yaml:2"), HasSubstr("'read'")));
  EXPECT_THAT(ErrorOf("latency:\n  read: {median: 1, p99: 2ms}\n"), HasSubstr("20ms"));
  EXPECT_THAT(ErrorOf("latency: {read: {median: 5ms, p99: 2ms}}\n"), HasSubstr("p99"));
  EXPECT_THAT(ErrorOf("faults:\n  - {fault: rest, rate: 0.1}\n"),
              ::testing::AllOf(HasSubstr("p.yaml:2"), HasSubstr("'reset'")));
  EXPECT_THAT(ErrorOf("faults:\n  - {fault: reset, rate: 2}\n"), HasSubstr("between 0 and 1"));
  EXPECT_THAT(ErrorOf("faults:\n  - {fault: return, rate: 0.1, status: 200}\n"), HasSubstr("400"));
  EXPECT_THAT(ErrorOf("bandwidth: {total: fast}\n"), HasSubstr("p.yaml:1"));
  EXPECT_THAT(ErrorOf("latency: {read: {percentiles: {50: 3ms, 40: 4ms}}}\n"), HasSubstr("rise"));
  EXPECT_THAT(ReadProfile("nowhere", ASSAY_SOURCE_DIR "/share").status().message(), HasSubstr("same-region-s3"));
}

TEST(Profile, ReadsThoseThatAreReady) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/share/profiles")) {
    const Result<Profile> profile = ReadProfile(entry.path().stem(), ASSAY_SOURCE_DIR "/share");
    EXPECT_TRUE(profile.ok()) << profile.status().message();
    ++count;
  }
  EXPECT_EQ(count, 7);
}

TEST(LatencyModel, KeepsToItsPercentiles) {
  const Profile profile = ParseProfile("latency: {read: {median: 20ms, p99: 100ms}}", "p").value();
  Model model(profile, 1);
  std::vector<double> delays;
  for (int i = 0; i < 4000; ++i) {
    delays.push_back(model.Decide({"GetObject", false, false, "b", std::to_string(i), ""}, 0).delay_seconds);
  }
  std::ranges::sort(delays);
  EXPECT_NEAR(delays[2000], 0.020, 0.002);
  EXPECT_NEAR(delays[3960], 0.100, 0.025);
}

TEST(Model, ReplaysTheSameRunWhateverTheOrder) {
  const Profile profile = ReadProfile("bad-day", ASSAY_SOURCE_DIR "/share").value();
  Model forward(profile, 7);
  Model backward(profile, 7);
  Model other(profile, 8);
  std::vector<double> delays[3];
  for (int i = 0; i < 100; ++i) {
    const auto decide = [](Model& model, int key) {
      return model.Decide({"GetObject", false, false, "b", std::to_string(key), ""}, 0).delay_seconds;
    };
    delays[0].push_back(decide(forward, i));
    delays[1].insert(delays[1].begin(), decide(backward, 99 - i));
    delays[2].push_back(decide(other, i));
  }
  EXPECT_EQ(delays[0], delays[1]);
  EXPECT_NE(delays[0], delays[2]);
}

TEST(Model, InjectsFaultsAtTheirRate) {
  Model model(ParseProfile("faults: [{fault: reset, rate: 0.1}, {fault: stale-list, rate: 0.5}]", "p").value(), 3);
  int resets = 0;
  for (int i = 0; i < 2000; ++i) {
    const RequestFate fate = model.Decide({"GetObject", false, false, "b", "k", ""}, 0);
    resets += fate.fault != nullptr ? 1 : 0;
    EXPECT_TRUE(fate.fault == nullptr || fate.fault->name == "reset");
  }
  EXPECT_NEAR(resets, 200, 45);
}

TEST(Model, LimitsRequestsOfAPrefix) {
  Model model(ParseProfile("requests: {reads: 10, writes: 5}", "p").value(), 0);
  const auto throttled = [&](const char* key, bool write, double now) {
    return model.Decide({write ? "PutObject" : "GetObject", write, false, "b", key, ""}, now).throttled;
  };
  int let_in = 0;
  for (int i = 0; i < 20; ++i) {
    let_in += throttled("a/1", false, 100) ? 0 : 1;
  }
  EXPECT_EQ(let_in, 10);
  EXPECT_FALSE(throttled("b/1", false, 100)) << "another prefix";
  EXPECT_FALSE(throttled("a/1", true, 100)) << "a write";
  EXPECT_FALSE(throttled("a/2", false, 100.2)) << "a little later";
}

/// Carries out one request under one fault that always strikes.
http::ServerResponse Answer(const std::string& fault, bool write) {
  objectserver::testing::Harness harness;
  FaultRule rule = ParseProfile("faults: [{fault: " + fault + ", rate: 1}]", "p").value().faults[0];
  rule.after_bytes = 2;
  const RequestFate fate = {false, 0.25, &rule, 0.5};
  Routed routed;
  routed.write = write;
  http::ServerResponse inner;
  inner.body.push_back(http::BodyPiece::Text("hello"));
  routed.exchange = http::ReadyExchange(std::move(inner));
  return ApplyFate(std::move(routed), fate, harness.dialect(), nullptr, std::make_shared<RequestNotes>())->Finish({});
}

std::string TextOf(const http::ServerResponse& response) {
  std::string text;
  for (const http::BodyPiece& piece : response.body) {
    text.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  }
  return text;
}

TEST(ModelledExchange, AppliesEachFault) {
  EXPECT_EQ(Answer("reset", false).cut, http::CutKind::kReset);
  EXPECT_EQ(Answer("truncate", false).cut_after_bytes, 2);
  EXPECT_EQ(Answer("stall", true).cut, http::CutKind::kStall);
  EXPECT_EQ(Answer("lost-answer", true).cut, http::CutKind::kReset);
  EXPECT_EQ(Answer("return", false).status, 503);
  EXPECT_EQ(Answer("200-with-error", true).status, 200);
  EXPECT_THAT(TextOf(Answer("200-with-error", true)), HasSubstr("<Error>"));
  EXPECT_THAT(TextOf(Answer("expired-token", false)), HasSubstr("ExpiredToken"));
  EXPECT_EQ(Answer("precondition-conflict", true).status, 409);
  const std::string flipped = TextOf(Answer("bit-flip", false));
  ASSERT_EQ(flipped.size(), 5u);
  EXPECT_EQ(flipped.substr(0, 2) + flipped.substr(3), "helo");
  EXPECT_NE(flipped[2], 'l');
  EXPECT_EQ(Answer("bit-flip", false).delay_seconds, 0.25);
  EXPECT_EQ(Answer("delay, window: 2s", false).delay_seconds, 2.25);
  EXPECT_EQ(TextOf(Answer("delay, window: 2s", false)), "hello");
}

}  // namespace
}  // namespace assay::objectserver
