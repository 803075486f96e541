#include "http/wire/address_book.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/io_thread.h"
#include "http/scripted_peer.h"
#include "http/server.h"
#include "http/tls_peer.h"
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

TEST(AddressBook, OneConnectionTriesWhoWasPassedOver) {
  double now = 100;
  AddressBook book([](const std::string&, int, std::string&) { return std::vector<Address>{Loopback(1), Loopback(2)}; },
                   [&now] { return now; });
  std::string error;
  ASSERT_EQ(AskPatiently(book, error), AddressBook::State::kKnown);
  const auto next = [&book] { return PortOf(*book.Take("store", 80, {})); };
  for (int i = 0; i < 8; ++i) {
    next();
  }
  book.PassOver("store", 80, Loopback(1));
  for (int i = 0; i < 4; ++i) {
    book.Release("store", 80, Loopback(1));
  }
  for (int round = 0; round < 2; ++round) {
    now += AddressBook::kPassedOverSeconds + 1;
    EXPECT_EQ(next(), 1);
    EXPECT_EQ(next(), 2);
    EXPECT_EQ(next(), 2);
  }
  book.Proved("store", 80, Loopback(1));
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(next(), 1);
}

TEST(AddressBook, WhoIsGivenUpOnForLongIsPassedOver) {
  double now = 100;
  AddressBook book([](const std::string&, int, std::string&) { return std::vector<Address>{Loopback(1), Loopback(2)}; },
                   [&now] { return now; });
  std::string error;
  ASSERT_EQ(AskPatiently(book, error), AddressBook::State::kKnown);
  const auto next = [&book] {
    const Address address = *book.Take("store", 80, {});
    book.Release("store", 80, address);
    return PortOf(address);
  };
  // Slow once, and again after it has answered: others were faster, no more.
  book.Unanswered("store", 80, Loopback(1), now - 0.1);
  EXPECT_EQ(next(), 1);
  now += 5;
  book.Proved("store", 80, Loopback(1));
  book.Unanswered("store", 80, Loopback(1), now - 0.1);
  EXPECT_EQ(next(), 1);
  // Nor is it silent for as long as nobody asks it.
  now += 5;
  book.Unanswered("store", 80, Loopback(1), now - 0.1);
  EXPECT_EQ(next(), 1);
  // Of the same time: as one.
  for (int request = 0; request < 20; ++request) {
    book.Unanswered("store", 80, Loopback(1), now - 0.2);
  }
  EXPECT_EQ(next(), 1);
  for (int request = 0; request < 10; ++request) {
    now += 0.1;
    book.Unanswered("store", 80, Loopback(1), now - 0.1);
  }
  EXPECT_EQ(next(), 2);
  book.Proved("store", 80, Loopback(1));
  book.Unanswered("store", 80, Loopback(1), now - AddressBook::kSilentSeconds);
  EXPECT_EQ(next(), 2) << "one request alone";
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

constexpr char kStoreUrl[] = "http://store/object";

/// The outcomes of `count` transfers that are on their way at the same time.
std::vector<Outcome> AskAtOnce(IoThread& thread, int count, const std::string& url = kStoreUrl) {
  static TransferId last_id = 0;
  std::vector<std::promise<Outcome>> promises(static_cast<size_t>(count));
  for (std::promise<Outcome>& promise : promises) {
    Job job;
    job.id = ++last_id;
    job.transfer.request.url = url;
    job.callback = [&promise](Outcome outcome) { promise.set_value(std::move(outcome)); };
    thread.Submit(std::move(job));
  }
  std::vector<Outcome> outcomes;
  for (std::promise<Outcome>& promise : promises) {
    outcomes.push_back(promise.get_future().get());
  }
  return outcomes;
}

/// Answers late, so that each of several transfers needs a connection of its own.
std::unique_ptr<Server> StartLate() {
  return *Server::Start({}, WholeBody([](const RequestHead&, std::string_view) {
                          ServerResponse response;
                          response.body.push_back(BodyPiece::Text("content"));
                          response.delay_seconds = 0.05;
                          return response;
                        }));
}

/// A server, an address where nobody listens, another server: one name.
TEST(WireEngine, ConnectionsGoToAllAddressesThatServe) {
  const auto first = StartLate();
  auto dead = StartLate();
  const int dead_port = dead->port();
  dead.reset();
  const auto second = StartLate();
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(first->port()), Loopback(dead_port), Loopback(second->port())};
  });
  const ClientOptions options{.use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  constexpr int kTransfers = 16;
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  for (const Outcome& outcome : AskAtOnce(thread, kTransfers)) {
    EXPECT_TRUE(outcome.ok() && outcome.response.body == "content") << outcome.detail;
  }
  EXPECT_EQ(first->stats().connections_accepted + second->stats().connections_accepted, kTransfers);
  EXPECT_EQ(first->stats().connections_accepted, kTransfers / 2);
}

/// An address that takes connections and says nothing, and a server.
TEST(WireEngine, WhoDoesNotAnswerGetsNoMoreConnections) {
  const ScriptedPeer silent([](PeerSocket& socket, int) { socket.AwaitEnd(); });
  const auto server = StartLate();
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(silent.port()), Loopback(server->port())};
  });
  const ClientOptions options{.stall_timeout_seconds = 1, .use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  EXPECT_EQ(AskAtOnce(thread, 1).front().error, TransportError::kStall);
  for (const Outcome& outcome : AskAtOnce(thread, 8)) {
    EXPECT_TRUE(outcome.ok()) << outcome.detail;
  }
  EXPECT_EQ(silent.connections(), 1);
}

TEST(WireEngine, WhoseRequestsTimeOutGetsNoMoreConnections) {
  const ScriptedPeer silent([](PeerSocket& socket, int) { socket.AwaitEnd(); });
  const auto server = StartLate();
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(silent.port()), Loopback(server->port())};
  });
  const ClientOptions options{.stall_timeout_seconds = 60, .total_timeout_seconds = 1.5, .use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  EXPECT_EQ(AskAtOnce(thread, 1).front().error, TransportError::kTimeout);
  for (const Outcome& outcome : AskAtOnce(thread, 8)) {
    EXPECT_TRUE(outcome.ok()) << outcome.detail;
  }
  EXPECT_EQ(silent.connections(), 1);
}

/// As a second copy of the request does that another address has answered.
TEST(WireEngine, WhoIsGivenUpOnWithoutAByteGetsNoMoreConnections) {
  const TlsIdentity identity("DNS:store");
  for (const bool greets : {true, false}) {
    const ScriptedPeer silent([](PeerSocket& socket, int) { socket.AwaitEnd(); });
    AddressBook book([&](const std::string&, int, std::string&) {
      return std::vector<Address>{Loopback(silent.port()), Loopback(1)};
    });
    const ClientOptions options{.ca_file = identity.certificate_file(), .use_proxy = false};
    Shared shared(options);
    TlsContext tls(options);
    IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
    std::promise<Outcome> promise;
    Job job;
    job.id = 1'000'000;
    job.transfer.request.url = greets ? kStoreUrl : "https://store/object";
    job.callback = [&promise](Outcome outcome) { promise.set_value(std::move(outcome)); };
    thread.Submit(std::move(job));
    while (silent.connections() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(AddressBook::kSilentSeconds + 0.2));
    thread.Cancel(1'000'000);
    EXPECT_EQ(promise.get_future().get().error, TransportError::kCancelled);
    const int port = greets ? 80 : 443;
    EXPECT_EQ(PortOf(*book.Take("store", port, {})), 1) << greets;
  }
}

TEST(WireEngine, WhoAnswersAsItIsGivenUpOnIsNotSilent) {
  const ScriptedPeer slow([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    socket.AwaitEnd();
  });
  AddressBook book(
      [&](const std::string&, int, std::string&) { return std::vector<Address>{Loopback(slow.port()), Loopback(1)}; });
  const ClientOptions options{.stall_timeout_seconds = 60, .total_timeout_seconds = 1.5, .use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  EXPECT_EQ(AskAtOnce(thread, 1).front().error, TransportError::kTimeout);
  EXPECT_EQ(PortOf(*book.Take("store", 80, {})), slow.port());
}

TEST(WireEngine, WhoFallsSilentGetsNoMoreConnections) {
  const ScriptedPeer silent([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    socket.AwaitEnd();
  });
  const auto server = StartLate();
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(silent.port()), Loopback(server->port())};
  });
  const ClientOptions options{.stall_timeout_seconds = 1, .use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  EXPECT_TRUE(AskAtOnce(thread, 1).front().ok());
  EXPECT_EQ(AskAtOnce(thread, 1).front().error, TransportError::kStall) << "over the connection that was kept";
  EXPECT_TRUE(AskAtOnce(thread, 1).front().ok());
  EXPECT_EQ(silent.connections(), 1);
}

TEST(WireEngine, WhoDoesNotGreetGetsNoMoreConnections) {
  const TlsIdentity identity("DNS:store");
  const ScriptedPeer silent([](PeerSocket& socket, int) { socket.AwaitEnd(); });
  const ScriptedPeer peer(
      [](PeerSocket& socket, int) {
        socket.ReceiveHead();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        socket.AwaitEnd();
      },
      identity.accept());
  AddressBook book([&](const std::string&, int, std::string&) {
    return std::vector<Address>{Loopback(silent.port()), Loopback(peer.port())};
  });
  const ClientOptions options{.connect_timeout_seconds = 1, .ca_file = identity.certificate_file(), .use_proxy = false};
  Shared shared(options);
  TlsContext tls(options);
  IoThread thread(std::make_unique<WireEngine>(shared, book, tls, 64), 64);
  EXPECT_EQ(AskAtOnce(thread, 1, "https://store/object").front().error, TransportError::kConnectTimeout);
  for (const Outcome& outcome : AskAtOnce(thread, 4, "https://store/object")) {
    EXPECT_TRUE(outcome.ok()) << outcome.detail;
  }
  EXPECT_EQ(silent.connections(), 1);
}

}  // namespace
}  // namespace assay::http
