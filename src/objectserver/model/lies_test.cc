#include "objectserver/model/lies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "objectserver/model/answer_document.h"
#include "objectserver/model/model.h"
#include "objectserver/testing.h"

namespace assay::objectserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr LieTarget kTarget = {"GetObject", "test/k\n", false};

http::ServerResponse AnswerOf(std::string text, int status = 200) {
  http::ServerResponse answer;
  answer.status = status;
  answer.headers.Add("ETag", "\"abc\"");
  answer.headers.Add("x-amz-checksum-crc64nvme", "AAAA");
  answer.headers.Add("Content-Range", "bytes 0-4/5");
  answer.body.push_back(http::BodyPiece::Text(std::move(text)));
  return answer;
}

http::ServerResponse XmlList() {
  return AnswerOf(
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t2</NextContinuationToken>"
      "<Contents><Key>run/1</Key><Size>5</Size></Contents><Contents><Key>run/2</Key><Size>6</Size></Contents>"
      "</ListBucketResult>");
}

http::ServerResponse JsonList() {
  return AnswerOf(R"({"items":[{"name":"run/1","size":"5"},{"name":"run/2","size":"6"}],"nextPageToken":"t2"})");
}

std::string TextOf(const http::ServerResponse& answer) {
  std::string text;
  for (const http::BodyPiece& piece : answer.body) {
    text.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  }
  return text;
}

std::string HeadOf(const http::ServerResponse& answer) {
  return http::SerializeHead(answer, false, true, "date");
}

http::ServerResponse Told(std::string_view name, http::ServerResponse answer, uint64_t seed = 1) {
  Liar liar;
  EXPECT_TRUE(liar.Tell(*FindLie(name), kTarget, Draws(seed), answer)) << name;
  return answer;
}

std::vector<std::string> KeysOf(const http::ServerResponse& answer) {
  std::vector<std::string> keys;
  const auto list = ParseAnswer(TextOf(answer));
  for (size_t i = 0; list && i < list->CountEntries(); ++i) {
    keys.push_back(list->Key(i));
  }
  return keys;
}

TEST(Lies, ChangeWhatTheyAreAboutAndTheSameForTheSameSeed) {
  for (const std::string& name : LieNames()) {
    const Lie& lie = *FindLie(name);
    if (SkipsTheDeed(lie) || DeniesTheDeed(lie) || name == "earlier-answer" || name == "list-repeat-token" ||
        name == "list-other-token") {
      continue;  // not about one answer alone
    }
    const http::ServerResponse truth = name == "false-success" ? AnswerOf("<Error/>", 404) : XmlList();
    const http::ServerResponse told = Told(name, truth);
    const bool longer = name == "endless";
    EXPECT_TRUE(HeadOf(told) != HeadOf(truth) || (!longer && TextOf(told) != TextOf(truth))) << name;
    EXPECT_TRUE(longer || TextOf(Told(name, truth)) == TextOf(told)) << name;
  }
}

TEST(Lies, ListKeysInBothLanguages) {
  for (const http::ServerResponse& list : {XmlList(), JsonList()}) {
    uint64_t first = 1;  // draws the first of two entries
    while (Draws(first).Below(2) != 0) {
      ++first;
    }
    EXPECT_THAT(KeysOf(list), ElementsAre("run/1", "run/2"));
    EXPECT_THAT(KeysOf(Told("list-drop-key", list, first)), ElementsAre("run/2"));
    EXPECT_THAT(KeysOf(Told("list-outside", list, first)), ElementsAre("!outside/run/1", "run/2"));
    EXPECT_THAT(KeysOf(Told("list-short-key", list, first)), ElementsAre("r", "run/2"));
    EXPECT_THAT(KeysOf(Told("list-repeat-key", list, first)), ElementsAre("run/1", "run/1", "run/2"));
    EXPECT_THAT(KeysOf(Told("list-swap-keys", list, first)), ElementsAre("run/2", "run/1"));
    const http::ServerResponse ended = Told("list-end", list);
    EXPECT_THAT(TextOf(ended), AllOf(Not(HasSubstr("t2")), Not(HasSubstr("true"))));
    EXPECT_THAT(KeysOf(ended), ElementsAre("run/1", "run/2"));
  }
  EXPECT_THAT(TextOf(Told("list-drop-token", XmlList())), AllOf(Not(HasSubstr("t2")), HasSubstr("true")));
}

TEST(Lies, ClaimsAreChangedOrDroppedAlone) {
  EXPECT_FALSE(Told("drop-checksum", AnswerOf("hello")).headers.Has("x-amz-checksum-crc64nvme"));
  EXPECT_NE(Told("change-checksum", AnswerOf("hello")).headers.Find("x-amz-checksum-crc64nvme"), "AAAA");
  EXPECT_EQ(Told("change-checksum", AnswerOf("hello")).headers.Find("ETag"), "\"abc\"");
  EXPECT_EQ(TextOf(Told("change-checksum", AnswerOf("hello"))), "hello");
  EXPECT_EQ(Told("swap-status", AnswerOf("hello")).status, 206);
  EXPECT_THAT(HeadOf(Told("lengthen", AnswerOf("hello"))), Not(HasSubstr("Content-Length: 5\r\n")));
  EXPECT_THAT(HeadOf(Told("surplus", AnswerOf("hello"))), Not(HasSubstr("Content-Length: 5\r\n")));
  EXPECT_EQ(TextOf(Told("surplus", AnswerOf("hello"))), "hello");
}

TEST(Lies, AnEarlierAnswerIsOneToAnotherRequestOfItsKind) {
  Liar liar;
  http::ServerResponse answer = AnswerOf("mine");
  const Lie& lie = *FindLie("earlier-answer");
  liar.Remember(kTarget, AnswerOf("mine, earlier"));
  liar.Remember({"HeadObject", "test/other\n", false}, AnswerOf("another kind"));
  EXPECT_FALSE(liar.Tell(lie, kTarget, Draws(1), answer));
  liar.Remember({"GetObject", "test/other\n", false}, AnswerOf("theirs"));
  EXPECT_TRUE(liar.Tell(lie, kTarget, Draws(1), answer));
  EXPECT_EQ(TextOf(answer), "theirs");
}

TEST(Lies, AListLeadsBackToItselfOrIntoAnother) {
  Liar liar;
  http::ServerResponse first = XmlList();
  const Lie& back = *FindLie("list-repeat-token");
  EXPECT_FALSE(liar.Tell(back, {"ListObjectsV2", "test/\n", false}, Draws(1), first)) << "it was asked without one";
  EXPECT_TRUE(liar.Tell(back, {"ListObjectsV2", "test/\nt1", false, "t1"}, Draws(1), first));
  EXPECT_THAT(TextOf(first), AllOf(HasSubstr("<NextContinuationToken>t1<"), Not(HasSubstr("t2"))));
  const Lie& other = *FindLie("list-other-token");
  http::ServerResponse mine = JsonList();
  EXPECT_FALSE(liar.Tell(other, {"ListObjects", "test/\n", false}, Draws(1), mine));
  liar.Remember({"ListObjects", "test/\nother", false}, AnswerOf(R"({"items":[],"nextPageToken":"theirs"})"));
  EXPECT_TRUE(liar.Tell(other, {"ListObjects", "test/\n", false}, Draws(1), mine));
  EXPECT_THAT(TextOf(mine), HasSubstr(R"("theirs")"));
}

/// A server under one rule.
class LyingServer {
 public:
  explicit LyingServer(const std::string& profile)
      : model_(ParseProfile(profile, "p").value(), 1), store_(std::move(Store::Open("memory")).value()) {
    store_->CreateBucket("test", "r");
    if (model_.profile().ignores_conditions) {
      store_->IgnoreConditions();
    }
    context_ = {&options_, &credentials_, store_.get(), &tokens_, &preauthenticated_, &model_};
    front_ = std::make_unique<Front>(context_);
  }
  http::ServerResponse Put(const std::string& key, std::string_view content, bool if_absent = false) {
    http::RequestHead head;
    head.method = "PUT";
    head.target = "/test/" + key;
    head.headers.Add("Host", "127.0.0.1:9000");
    head.content_length = static_cast<int64_t>(content.size());
    if (if_absent) {
      head.headers.Add("If-None-Match", "*");
    }
    http::ServerResponse answer = testing::Answer(*front_, std::move(head), content);
    answer.on_sent(0, true);
    return answer;
  }
  bool Holds(const std::string& key) { return store_->Find("test", key).ok(); }
  std::string Metrics() { return front_->Metrics(); }

 private:
  ServeOptions options_;
  Credentials credentials_ = Credentials::Anonymous();
  Model model_;
  std::unique_ptr<Store> store_;
  Tokens tokens_{credentials_};
  oci::PreauthenticatedRequests preauthenticated_;
  Context context_;
  std::unique_ptr<Front> front_;
};

TEST(Lies, TellADeedThatWasDoneFromOneThatWasNot) {
  LyingServer denies("faults: [{fault: done-but-failed, rate: 1}]");
  EXPECT_EQ(denies.Put("k", "hello").status, 500);
  EXPECT_TRUE(denies.Holds("k"));
  EXPECT_THAT(denies.Metrics(), HasSubstr(R"(faults_total{fault="done-but-failed",operation="PutObject"} 1)"));
  LyingServer pretends("faults: [{fault: not-done, rate: 1}]");
  EXPECT_EQ(pretends.Put("k", std::string(10'000, 'x')).status, 200);
  EXPECT_FALSE(pretends.Holds("k"));
}

TEST(Lies, AreCountedOnlyWhereTheyWereTold) {
  LyingServer server("faults: [{fault: list-outside, rate: 1}, {fault: change-range, rate: 1}]");
  EXPECT_EQ(server.Put("k", "hello").status, 200);
  EXPECT_THAT(server.Metrics(), Not(HasSubstr("faults_total{")));
  LyingServer denies("faults: [{fault: done-but-failed, rate: 1}]");
  EXPECT_EQ(denies.Put("k", "hello").status, 500);
  EXPECT_EQ(denies.Put("k", "hello", true).status, 412) << "what was not done is not denied";
  EXPECT_THAT(denies.Metrics(), HasSubstr(R"(faults_total{fault="done-but-failed",operation="PutObject"} 1)"));
}

TEST(Lies, ConditionsOfWritesMayBeIgnored) {
  LyingServer keeps("conditions: kept");
  EXPECT_EQ(keeps.Put("k", "hello", true).status, 200);
  EXPECT_EQ(keeps.Put("k", "hello", true).status, 412);
  LyingServer ignores("conditions: ignored");
  EXPECT_EQ(ignores.Put("k", "hello", true).status, 200);
  EXPECT_EQ(ignores.Put("k", "hello", true).status, 200);
}

}  // namespace
}  // namespace assay::objectserver
