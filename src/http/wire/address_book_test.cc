#include "http/wire/address_book.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <future>
#include <vector>

#include "http/io_thread.h"
#include "http/server.h"
#include "http/wire/wire_engine.h"

namespace assay::http {
namespace {

Address Loopback(int port) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.socket);
  in->sin_family = AF_INET;
  in->sin_port = htons(static_cast<uint16_t>(port));
  in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.size = sizeof(sockaddr_in);
  return address;
}

int PortOf(const Address& address) {
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.socket)->sin_port);
}

/// Of the name "store": what Ask() says once the name has been looked up.
AddressBook::State AskPatiently(AddressBook& book, std::string& error, const std::string& name = "store") {
  std::promise<void> known;
  const AddressBook::State state = book.Ask(name, 80, [&known] { known.set_value(); }, error);
  if (state != AddressBook::State::kPending) {
    return state;
  }
  known.get_future().wait();
  return book.Ask(name, 80, [] {}, error);
}

TEST(AddressBook, NamesBelowLocalhostAreThisMachine) {
  AddressBook book;
  std::string error;
  EXPECT_EQ(AskPatiently(book, error, "bucket.localhost"), AddressBook::State::kKnown) << error;
}

TEST(AddressBook, KnowsNumbersAtOnce) {
  AddressBook book([](const std::string&, int, std::string&) -> std::vector<Address> {
    ADD_FAILURE() << "a number is no name";
    return {};
  });
  std::string error;
  EXPECT_EQ(book.Ask("127.0.0.1", 80, [] {}, error), AddressBook::State::kKnown);
  EXPECT_EQ(book.Take("127.0.0.1", 80, {}), Loopback(80));
  EXPECT_EQ(book.Ask("::1", 80, [] {}, error), AddressBook::State::kKnown);
  EXPECT_EQ(book.Take("::1", 80, {})->family(), AF_INET6);
}

TEST(AddressBook, SpreadsConnectionsAndPassesTheDeadOver) {
  AddressBook book([](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(1), Loopback(2), Loopback(3)};
  });
  std::string error;
  ASSERT_EQ(AskPatiently(book, error), AddressBook::State::kKnown);
  std::vector<int> ports;
  for (int i = 0; i < 6; ++i) {
    ports.push_back(PortOf(*book.Take("store", 80, {})));
  }
  EXPECT_EQ(ports, (std::vector<int>{1, 2, 3, 1, 2, 3}));
  book.PassOver("store", 80, Loopback(2));
  book.Release("store", 80, Loopback(2));
  book.Release("store", 80, Loopback(2));
  EXPECT_EQ(PortOf(*book.Take("store", 80, {})), 1) << "it has none, but it was dead";
  EXPECT_EQ(PortOf(*book.Take("store", 80, {Loopback(1), Loopback(3)})), 2) << "better than none";
  book.Proved("store", 80, Loopback(2));
  EXPECT_EQ(PortOf(*book.Take("store", 80, {})), 2);
  EXPECT_FALSE(book.Take("store", 80, {Loopback(1), Loopback(2), Loopback(3)}));
}

TEST(AddressBook, SaysWhyANameIsNotKnown) {
  std::atomic<int> asked = 0;
  AddressBook book([&asked](const std::string&, int, std::string& error) {
    ++asked;
    error = "no such name";
    return std::vector<Address>{};
  });
  std::string error;
  EXPECT_EQ(AskPatiently(book, error), AddressBook::State::kFailed);
  EXPECT_EQ(error, "no such name");
  EXPECT_EQ(AskPatiently(book, error), AddressBook::State::kFailed);
  EXPECT_EQ(asked, 1) << "not at once again";
}

/// A server, an address where nobody listens, another server: one name.
TEST(WireEngine, ConnectionsGoToAllAddressesThatServe) {
  const auto start = [] {
    return *Server::Start({}, WholeBody([](const RequestHead& head, std::string_view) {
                            ServerResponse response;
                            response.body.push_back(BodyPiece::Text("content"));
                            response.delay_seconds = 0.05;  // so that each transfer needs a connection of its own
                            return response;
                          }));
  };
  const auto first = start();
  auto dead = start();
  const int dead_port = dead->port();
  dead.reset();
  const auto second = start();
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(first->port()), Loopback(dead_port), Loopback(second->port())};
  });
  const ClientOptions options{.use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  std::atomic<int> right = 0;
  constexpr int kTransfers = 16;
  {
    IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
    std::atomic<int> left = kTransfers;
    for (int i = 0; i < kTransfers; ++i) {
      Job job;
      job.id = static_cast<TransferId>(i);
      job.transfer.request.url = "http://store/object";
      job.callback = [&](const Outcome& outcome) {
        right += outcome.ok() && outcome.response.body == "content" ? 1 : 0;
        --left;
        left.notify_one();
      };
      thread.Submit(std::move(job));
    }
    for (int now = left; now > 0; now = left) {
      left.wait(now);
    }
  }
  EXPECT_EQ(right, kTransfers);
  EXPECT_EQ(first->stats().connections_accepted + second->stats().connections_accepted, kTransfers);
  EXPECT_EQ(first->stats().connections_accepted, kTransfers / 2);
}

}  // namespace
}  // namespace assay::http
