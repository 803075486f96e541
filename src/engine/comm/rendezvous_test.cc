#include "engine/comm/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "engine/comm/communicator.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

int free_port() {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), generic, size), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
  return ntohs(address.sin_port);
}

/// A rank of a job of three at `port`.
std::unique_ptr<Rendezvous> come(int port, int rank, double patience_seconds = 60) {
  RankEnvironment environment;
  environment.rank = rank;
  environment.world_size = 3;
  environment.address = "127.0.0.1";
  environment.port = port;
  return std::make_unique<Rendezvous>(environment, CommOptions{.start_seconds = patience_seconds});
}

std::string failure_of_exchange(Rendezvous& rank) {
  try {
    rank.exchange("host", "here");
    return "";
  } catch (const CommError& error) {
    return error.what();
  }
}

TEST(RendezvousTest, AllRanksGetWhatEachGave) {
  const int port = free_port();
  std::vector<std::vector<std::string>> got(3);
  const auto serving = come(port, 0);
  std::vector<std::thread> ranks;
  for (int rank = 1; rank < 3; ++rank) {
    ranks.emplace_back(
        [&, rank] { got[static_cast<size_t>(rank)] = come(port, rank)->exchange("host", std::to_string(rank)); });
  }
  got[0] = serving->exchange("host", "");
  for (std::thread& rank : ranks) {
    rank.join();
  }
  EXPECT_THAT(got, ::testing::Each(::testing::ElementsAre("", "1", "2")));
}

TEST(RendezvousTest, WhoDoesNotComeIsNamedOnAllRanksWhenThePatienceOfOneEnds) {
  const int port = free_port();
  const auto first = come(port, 0, 3);
  const auto second = come(port, 1, 60);
  std::string line_of_second;
  std::thread waiting([&] { line_of_second = failure_of_exchange(*second); });
  const std::string line = failure_of_exchange(*first);
  waiting.join();
  EXPECT_THAT(line, HasSubstr("rank 2 did not come to 127.0.0.1:"));
  EXPECT_THAT(line, HasSubstr(" within 3.00 s"));
  EXPECT_EQ(line_of_second, line);
  EXPECT_THAT(failure_of_exchange(*come(port, 2)), HasSubstr("rank 2 came to 127.0.0.1:"));
}

TEST(RendezvousTest, APeerThatHasGoneDoesNotEndTheProcess) {
  const auto earlier = std::signal(SIGPIPE, SIG_DFL);
  const auto rank = come(free_port(), 0);
  std::raise(SIGPIPE);  // what the kernel does when this process writes to a connection that its peer has reset
  EXPECT_EQ(std::signal(SIGPIPE, earlier), SIG_IGN);
}

TEST(RendezvousTest, ARunHasANumberOfItsOwn) {
  const int port = free_port();
  const auto first = come(port, 0);
  EXPECT_EQ(come(port, 1)->run(), first->run());
  EXPECT_NE(come(free_port(), 0)->run(), first->run());
}

}  // namespace
}  // namespace assay::engine
