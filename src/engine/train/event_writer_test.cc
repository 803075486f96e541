#include "engine/train/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) {
      ::close(ends_[0]);
      ends_[0] = -1;
    }
  }
  std::string read() {
    char buffer[4096];
    const ssize_t count = ::read(ends_[0], buffer, sizeof(buffer));
    return {buffer, static_cast<size_t>(count)};
  }

 private:
  int ends_[2];
};

TEST(EventWriter, WritesOneLinePerEvent) {
  Pipe pipe;
  EventWriter events(pipe.writer());
  events.write(job::Saved{.path = "/out"});
  events.write(job::Step{.step = 2, .loss = 1.5});
  const std::string text = pipe.read();
  const size_t end = text.find('\n');
  EXPECT_EQ(text.substr(0, end), job::ToJsonLine(job::Saved{.path = "/out"}));
  const auto second = job::EventFromJsonLine(text.substr(end + 1, text.size() - end - 2));
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(std::get<job::Step>(*second).loss, 1.5);
}

TEST(EventWriter, TellsThatNobodyReads) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  EventWriter events(pipe.writer());
  EXPECT_THROW(events.write(job::Saved{}), ControllerGone);
}

TEST(EventWriter, ReportsOtherErrors) {
  EventWriter events(-1);
  EXPECT_THROW(events.write(job::Saved{}), StatusError);
}

TEST(EventWriter, NothingFollowsTheLastEvent) {
  Pipe pipe;
  EventWriter events(pipe.writer());
  events.write_last(job::Saved{.path = "/last"});
  events.write(job::Saved{.path = "/late"});
  EXPECT_EQ(pipe.read(), job::ToJsonLine(job::Saved{.path = "/last"}) + "\n");
}

TEST(EventWriter, LastEventEndsTheProcess) {
  EXPECT_EXIT(EventWriter(STDERR_FILENO).write_last_and_exit(job::Saved{.path = "/out"}, 7), testing::ExitedWithCode(7),
              "\"path\":\"/out\"");
}

}  // namespace
}  // namespace assay::engine
