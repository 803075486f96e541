#include "serve/reader_thread.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "samplestore/sample_store.h"

namespace assay::serve {
namespace {

http::ServerResponse Answered(ReaderThread& reader, ReaderThread::Question question) {
  const http::ServerResponse asked = reader.Ask(std::move(question));
  std::optional<http::ServerResponse> answer;
  while (!(answer = asked.deferred->Take())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return *std::move(answer);
}

TEST(ReaderThreadTest, AQuestionThatThrowsIsAnsweredAndTheNextOneToo) {
  Library library(OpenerOf("sqlite:////nowhere/store.db"), {});
  EventHub hub;
  ReaderThread reader(library, hub);
  const auto failed =
      Answered(reader, [](Library&) -> http::ServerResponse { throw std::runtime_error("no\nnumber"); });
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(Answered(reader, [](Library&) { return http::TextResponse(200, "here"); }).status, 200);
}

TEST(ReaderThreadTest, AQuestionThatThrowsDoesNotMakeAllPagesAskAnew) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("reader").value();
  const std::string url = "sqlite:///" + folder.path() + "/runs.db";
  ASSERT_TRUE(samplestore::OpenStore(url).ok());
  Library library(OpenerOf(url), {});
  EventHub hub;
  ReaderThread reader(library, hub);
  std::string contents[2];
  for (std::string& now : contents) {
    Answered(reader, [&](Library& asked) {
      now = asked.Look().contents;
      return http::TextResponse(200, "");
    });
    Answered(reader, [](Library&) -> http::ServerResponse { throw std::runtime_error("no number"); });
  }
  EXPECT_EQ(contents[0], contents[1]);
  EXPECT_NE(contents[0], "");
}

TEST(ReaderThreadTest, ALookThatThrowsIsAProblemUntilTheStoreWasReadAnew) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("reader").value();
  const std::string url = "sqlite:///" + folder.path() + "/runs.db";
  ASSERT_TRUE(samplestore::OpenStore(url).ok());
  Library library(OpenerOf(url), {});
  EventHub hub;
  const auto stream = std::make_shared<http::ResponseStream>();
  ASSERT_TRUE(hub.Listen(stream, ""));
  int looks = 0;
  // Half a minute later each time, so that it is time to open the store again.
  ReaderThread reader(library, hub, [&](Library& looked) {
    if (++looks == 2) {
      throw std::runtime_error("no\nnumber");
    }
    return looked.Look(MonotonicSeconds() + 30 * looks);
  });
  std::string heard;
  const double start = MonotonicSeconds();
  const auto hear = [&](std::string_view text) {
    while (heard.find(text) == std::string::npos) {
      ASSERT_LT(MonotonicSeconds() - start, 300) << "in place of " << text << " only " << heard;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      heard += stream->Take().bytes;
    }
    heard.erase(0, heard.find(text) + text.size());
  };
  hear("event: problem\ndata: {\"text\":\"\"}\n");
  hear("event: store\n");
  hear("event: problem\ndata: {\"text\":\"what the store has cannot be shown: no number\"}\n");
  hear("event: problem\ndata: {\"text\":\"\"}\n");
  hear("event: store\n");
}

}  // namespace
}  // namespace assay::serve
