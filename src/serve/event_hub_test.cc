#include "serve/event_hub.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

namespace assay::serve {
namespace {

using http::ResponseStream;
using ::testing::HasSubstr;
using ::testing::Not;

class EventHubTest : public ::testing::Test {
 protected:
  std::shared_ptr<ResponseStream> Listen(const std::string& last_event_id = "") {
    auto stream = std::make_shared<ResponseStream>();
    EXPECT_TRUE(hub_.Listen(stream, last_event_id));
    return stream;
  }
  /// What came since the last call.
  static std::string Heard(ResponseStream& stream) { return stream.Take().bytes; }
  static std::string LastId(const std::string& text) {
    const size_t at = text.rfind("id: ") + 4;
    return text.substr(at, text.find('\n', at) - at);
  }

  EventHub hub_;
};

TEST_F(EventHubTest, WhoBeginsToListenHearsTheLastOfEachName) {
  hub_.Tell("store", "1");
  hub_.Tell("problem", "none");
  hub_.Tell("store", "2");
  const auto stream = Listen();
  const std::string text = Heard(*stream);
  EXPECT_THAT(text, HasSubstr("event: problem\ndata: none\n\n"));
  EXPECT_THAT(text, HasSubstr("event: store\ndata: 2\n\n"));
  EXPECT_THAT(text, Not(HasSubstr("data: 1\n")));
  hub_.Tell("store", "3");
  EXPECT_THAT(Heard(*stream), HasSubstr("event: store\ndata: 3\n\n"));
}

TEST_F(EventHubTest, WhatIsNotNewIsNotSaid) {
  hub_.Tell("store", "1");
  const auto stream = Listen();
  Heard(*stream);
  hub_.Tell("store", "1");
  EXPECT_EQ(Heard(*stream), "");
}

TEST_F(EventHubTest, WhoWasAwayHearsWhatChangedMeanwhile) {
  hub_.Tell("problem", "none");
  hub_.Tell("store", "1");
  const std::string id = LastId(Heard(*Listen()));
  hub_.Tell("store", "2");
  hub_.Tell("store", "3");
  const std::string text = Heard(*Listen(id));
  EXPECT_THAT(text, HasSubstr("data: 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("data: 2\n")));
  EXPECT_THAT(text, Not(HasSubstr("problem")));
  EXPECT_THAT(Heard(*Listen(LastId(text))), Not(HasSubstr("event:")));
}

TEST_F(EventHubTest, IdsOfOthersAreNone) {
  hub_.Tell("store", "1");
  const std::string id = LastId(Heard(*Listen()));
  for (const std::string& other : {std::string("0123abcd-99"), id + "x", id.substr(0, id.size() - 1), std::string("-"),
                                   std::string("99"), id.substr(0, 9) + "-99"}) {
    EXPECT_THAT(Heard(*Listen(other)), HasSubstr("event: store")) << other;
  }
}

TEST_F(EventHubTest, WhoDoesNotReadIsCutOffAndHoldsNobodyUp) {
  auto deaf = std::make_shared<ResponseStream>(/*most_waiting_bytes=*/1000);
  ASSERT_TRUE(hub_.Listen(deaf, ""));
  const auto other = Listen();
  for (int i = 0; i < 100; ++i) {
    hub_.Tell("store", std::string(100, static_cast<char>('a' + i % 26)));
  }
  EXPECT_TRUE(deaf->overflowed());
  EXPECT_EQ(deaf.use_count(), 1);
  EXPECT_THAT(Heard(*other), HasSubstr(std::string(100, 'v')));
}

TEST_F(EventHubTest, WhoHungUpIsForgotten) {
  const auto stream = Listen();
  stream->Abandon();
  hub_.Beat();
  EXPECT_EQ(stream.use_count(), 1);
}

TEST_F(EventHubTest, EndsAllStreamsInOrder) {
  const auto stream = Listen();
  hub_.Close();
  EXPECT_TRUE(stream->Take().closed);
}

}  // namespace
}  // namespace assay::serve
