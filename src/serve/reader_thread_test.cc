#include "serve/reader_thread.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

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
  Library library("sqlite:////nowhere/store.db", {});
  EventHub hub;
  ReaderThread reader(library, hub);
  const auto failed =
      Answered(reader, [](Library&) -> http::ServerResponse { throw std::runtime_error("no\nnumber"); });
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(Answered(reader, [](Library&) { return http::TextResponse(200, "here"); }).status, 200);
}

}  // namespace
}  // namespace assay::serve
