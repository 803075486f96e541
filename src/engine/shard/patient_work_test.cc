#include "engine/shard/patient_work.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"

namespace assay::engine {
namespace {

TEST(RunPatiently, OutlastsTheDeadlineOfACollective) {
  constexpr double kDeadlineSeconds = 3;  // within which both come to each collective, on a busy machine too
  const auto group = make_thread_group(2, {.deadline_seconds = kDeadlineSeconds});
  std::atomic<int> finished = 0;
  testing::run_ranks(group, [&](Communicator& world) {
    run_patiently(world, c10::kCPU, "rest", [&] {
      if (world.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * kDeadlineSeconds));
      }
      ++finished;
    });
    EXPECT_EQ(finished, 2) << "rank " << world.rank() << " went on before all were done";
  });
}

TEST(RunPatiently, WorkYieldsWhereItIsToldTo) {
  const auto group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& world) {
    for (const bool yields : {false, true}) {
      int own = 0;
      int started = 0;
      run_patiently(world, c10::kCPU, "rest",
                    [&] {
                      own = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
                      std::thread([&] { started = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }).join();
                    },
                    {.yields = yields});
      const int here = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
      EXPECT_EQ(own > here, yields);
      EXPECT_EQ(started, own);
    }
  });
}

TEST(RunPatiently, EveryRankHearsOfAFailure) {
  const auto group = make_thread_group(2);
  const auto errors = testing::run_ranks_to_end(group, [&](Communicator& world) {
    run_patiently(world, c10::kCPU, "rest", [&] {
      if (world.rank() == 1) {
        throw std::runtime_error("no space left");
      }
    });
  });
  EXPECT_THAT([&] { std::rethrow_exception(errors[0]); }, ::testing::Throws<CommError>());
  EXPECT_THAT([&] { std::rethrow_exception(errors[1]); },
              ::testing::ThrowsMessage<std::runtime_error>("no space left"));
}

/// What is written to stderr, for who waits for it.
class StderrPipe {
 public:
  StderrPipe() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~StderrPipe() {
    ::dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) {
      ::close(fd);
    }
  }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;

  /// What comes next; empty when nothing does for minutes.
  std::string read() const {
    constexpr int kMilliseconds = 300'000;
    pollfd readable{.fd = ends_[0], .events = POLLIN, .revents = 0};
    std::array<char, 1000> text{};
    const ssize_t length =
        ::poll(&readable, 1, kMilliseconds) == 1 ? ::read(ends_[0], text.data(), text.size()) : ssize_t{0};
    return {text.data(), static_cast<size_t>(std::max<ssize_t>(0, length))};
  }
  /// All that comes until `text` has; what has come by then when nothing does for minutes.
  std::string read_until(std::string_view text) const {
    std::string all;
    for (std::string more = " "; !more.empty() && all.find(text) == std::string::npos; all += more) {
      more = read();
    }
    return all;
  }

 private:
  int before_;
  std::array<int, 2> ends_{};
};

TEST(RunPatiently, SaysWhatItStillDoesWhenAnotherRankFailed) {
  const auto group = make_thread_group(2);
  std::string said;
  {
    const StderrPipe err;
    testing::run_ranks_to_end(group, [&](Communicator& world) {
      run_patiently(world, c10::kCPU, "write the file", [&] {
        if (world.rank() == 1) {
          throw std::runtime_error("no space left");
        }
        said = err.read();
      });
    });
  }
  EXPECT_THAT(said, ::testing::HasSubstr("still has to write the file"));
}

// The first notices may name others beside it, which a busy machine keeps from the little that they have to do.
TEST(RunPatiently, NamesWhoKeepsTheOthersWaiting) {
  constexpr std::string_view kNotice = "rank 1 still has to write the file";
  const auto group = make_thread_group(3);
  std::string said;
  {
    const StderrPipe err;
    testing::run_ranks(group, [&](Communicator& world) {
      run_patiently(world, c10::kCPU, "write the file",
                    [&] {
                      if (world.rank() == 1) {
                        said = err.read_until(kNotice);
                      }
                    },
                    {.notice_seconds = 0.01});
    });
  }
  EXPECT_THAT(said, ::testing::HasSubstr(kNotice));
}

TEST(RunPatiently, GivesUpRanksThatTakeFarLongerThanTheOthers) {
  const auto group = make_thread_group(3);
  std::atomic<bool> is_given_up = false;
  testing::run_ranks(group, [&](Communicator& world) {
    const auto work = [&] {
      while (world.rank() == 2 && !is_given_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    PatientWork own(&world, c10::kCPU, "write the file", work,
                    {.slack_seconds = 1, .give_up = [&] { is_given_up = true; }});
    own.wait();
    EXPECT_FALSE(own.is_done());
    EXPECT_THAT(own.given_up_ranks(), ::testing::ElementsAre(2));
  });
}

TEST(RunPatiently, WhoHasMoreToDoMayTakeLonger) {
  const auto group = make_thread_group(3);
  testing::run_ranks(group, [&](Communicator& world) {
    constexpr std::chrono::milliseconds kLittle(50);
    const auto work = [&] { std::this_thread::sleep_for(world.rank() == 2 ? 10 * kLittle : kLittle); };
    PatientWork own(&world, c10::kCPU, "write the file", work, {.slack_seconds = 0.01, .most_work = 1000});
    own.wait();
    EXPECT_TRUE(own.is_done());
  });
}

TEST(RunPatiently, AFailureEndsTheOthersWorkWhereThatCanBeEnded) {
  const auto group = make_thread_group(2);
  std::atomic<bool> is_given_up = false;
  testing::run_ranks(group, [&](Communicator& world) {
    const auto work = [&] {
      if (world.rank() == 1) {
        throw std::runtime_error("no space left");
      }
      while (!is_given_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    PatientWork own(&world, c10::kCPU, "write the file", work, {.give_up = [&] { is_given_up = true; }});
    own.wait();
    EXPECT_THAT(own.failed_ranks(), ::testing::ElementsAre(1));
    EXPECT_EQ(own.error() != nullptr, world.rank() == 1);
  });
}

TEST(RunPatiently, WorksAsItsCallerWould) {
  const auto group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& world) {
    const at::NoGradGuard no_grad;
    run_patiently(world, c10::kCPU, "look", [&] { EXPECT_FALSE(at::GradMode::is_enabled()); });
  });
}

}  // namespace
}  // namespace assay::engine
