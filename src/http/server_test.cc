#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/text.h"

namespace assay::http {
namespace {

/// A client of raw bytes.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  /// Until `text` has come, or the end.
  std::string ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos && ReceiveSome() > 0) {
    }
    return received_;
  }
  std::string ReadToEnd() {
    while ((last_ = ReceiveSome()) > 0) {
    }
    return received_;
  }
  bool was_reset() const { return last_ < 0; }
  bool IsOpen() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  int fd() const { return socket_.get(); }

 private:
  ssize_t ReceiveSome() {
    char buffer[4096];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    received_.append(buffer, count > 0 ? static_cast<size_t>(count) : 0);
    return count;
  }
  FileDescriptor socket_;
  std::string received_;
  ssize_t last_ = 0;
};

/// Echoes the body, or does what the path says.
ServerResponse Echo(const RequestHead& head, std::string_view body) {
  ServerResponse response;
  response.headers.Add("X-Path", head.target);
  response.body.push_back(BodyPiece::Text(std::string(body)));
  if (head.path() == "/delay") {
    response.delay_seconds = 0.05;
  } else if (head.path() == "/reset") {
    response.cut = CutKind::kReset;
  } else if (head.path() == "/truncate") {
    response.cut = CutKind::kClose;
    response.cut_after_bytes = 3;
  } else if (head.path() == "/stall") {
    response.cut = CutKind::kStall;
    response.cut_after_bytes = 2;
  }
  return response;
}

std::unique_ptr<Server> StartEcho(ServerOptions options = {}) {
  Result<std::unique_ptr<Server>> server = Server::Start(options, WholeBody(&Echo, 1 << 20));
  EXPECT_TRUE(server.ok()) << server.status().message();
  return std::move(server).value();
}

size_t CountOf(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Server, AClientThatGoesInTheMiddleOfAFileEndsNothing) {
  constexpr int64_t kBytes = 64 << 20;
  const auto file = std::make_shared<const FileDescriptor>(::memfd_create("body", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file->get(), kBytes), 0);
  const auto answer = [file](const RequestHead&, std::string_view) {
    ServerResponse response;
    response.body.push_back(BodyPiece::File(file, 0, kBytes));
    return response;
  };
  const auto server = Server::Start({}, WholeBody(answer));
  ASSERT_TRUE(server.ok());
  for (int i = 0; i < 3; ++i) {
    RawClient client((*server)->port());
    client.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.ReadUntil("\r\n\r\n");
    // The end of what it sends first, then a reset: whoever writes on is sent a SIGPIPE.
    ::shutdown(client.fd(), SHUT_RDWR);
  }
  RawClient last((*server)->port());
  last.Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_GT(last.ReadToEnd().size(), static_cast<size_t>(kBytes));
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  const auto server = StartEcho();
  RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 300; ++i) {
    const std::string body = "body" + std::to_string(i) + ';';
    requests += "PUT /" + std::string(i % 50 == 7 ? "delay" : "x") +
                " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  client.Send(requests + "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  size_t at = 0;
  for (int i = 0; i < 300; ++i) {
    at = answer.find("body" + std::to_string(i) + ';', at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(answer.find("X-Path: /last", at), std::string::npos);
}

TEST(Server, ReadsARequestThatComesByteByByte) {
  const auto server = StartEcho();
  RawClient client(server->port());
  for (const char byte : std::string_view("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          "4\r\nwiki\r\n3;e=1\r\nped\r\n0\r\nT: v\r\n\r\n")) {
    client.Send({&byte, 1});
  }
  EXPECT_NE(client.ReadUntil("wikiped").find("Content-Length: 7"), std::string::npos);
}

TEST(Server, RefusesAMalformedRequestAndCloses) {
  const auto server = StartEcho();
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
  EXPECT_EQ(CountOf(answer, "HTTP/1.1"), 1u);
  EXPECT_EQ(server->stats().malformed_requests, 1);
}

TEST(Server, ContinuesWhenAsked) {
  const auto server = StartEcho();
  RawClient client(server->port());
  client.Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_NE(client.ReadUntil("\r\n\r\nok").find("200 OK"), std::string::npos);
}

TEST(Server, AnswersATooLargeBodyOnceItIsRead) {
  const auto server = StartEcho();
  RawClient client(server->port());
  client.Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + std::string(3000000, 'x'));
  client.Send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string answer = client.ReadUntil("/next");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413")) << answer;
}

TEST(Server, AHeaderOfAnAnswerIsOneLineWhateverItHolds) {
  ServerResponse response;
  response.headers.Add("x-meta-a\r\nSet-Cookie: b", "c\r\nd: e");
  const std::string head = SerializeHead(response, false, true, "date");
  EXPECT_NE(head.find("\r\nx-meta-a  Set-Cookie: b: c  d: e\r\n"), std::string::npos) << head;
}

TEST(Server, SendsNoBodyToHead) {
  const auto server = StartEcho();
  RawClient client(server->port());
  client.Send("HEAD /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
  const std::string answer = client.ReadToEnd();
  EXPECT_NE(answer.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, BreaksConnectionsOnPurpose) {
  const auto server = StartEcho();
  const std::string tail = " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  RawClient truncated(server->port());
  truncated.Send("PUT /truncate" + tail);
  EXPECT_TRUE(truncated.ReadToEnd().ends_with("Content-Length: 5\r\nConnection: keep-alive\r\n\r\nhel"));
  RawClient reset(server->port());
  reset.Send("PUT /reset" + tail);
  EXPECT_EQ(reset.ReadToEnd(), "");
  EXPECT_TRUE(reset.was_reset());
  RawClient stalled(server->port());
  stalled.Send("PUT /stall" + tail);
  EXPECT_TRUE(stalled.ReadUntil("\r\n\r\nhe").ends_with("he"));
  EXPECT_TRUE(stalled.IsOpen());
}

TEST(Server, SendsRangesOfFiles) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::Create("assay-server-test");
  ASSERT_TRUE(directory.ok());
  const std::string path = directory->path() + "/file";
  ASSERT_TRUE(WriteFileAtomically(path, "0123456789").ok());
  const auto file = std::make_shared<const FileDescriptor>(OpenFile(path.c_str(), O_RDONLY));
  Result<std::unique_ptr<Server>> server =
      Server::Start({}, WholeBody([&](const RequestHead&, std::string_view) {
                      ServerResponse response;
                      response.body = {BodyPiece::Text("["), BodyPiece::File(file, 2, 5), BodyPiece::Text("]")};
                      return response;
                    }));
  ASSERT_TRUE(server.ok());
  RawClient client((*server)->port());
  client.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.ReadUntil("]").ends_with("Content-Length: 7\r\nConnection: keep-alive\r\n\r\n[23456]"));
}

TEST(Server, KeepsToTheModelledBandwidth) {
  constexpr size_t kBytes = 600000;
  ServerOptions options;
  options.network.connection_bytes_per_s = 4e6;
  const auto server = StartEcho(options);
  RawClient client(server->port());
  const double start = MonotonicSeconds();
  client.Send("PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " + std::to_string(kBytes) +
              "\r\n\r\n" + std::string(kBytes, 'x'));
  EXPECT_GT(client.ReadToEnd().size(), kBytes);
  const double seconds = MonotonicSeconds() - start;
  EXPECT_GT(seconds, 0.2);  // 0.15 s each way, less what may be caught up
}

TEST(Server, HoldsManyConnections) {
  const auto server = StartEcho();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 500; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
  }
  for (const auto& client : clients) {
    client->Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  }
  for (const auto& client : clients) {
    EXPECT_NE(client->ReadUntil("\r\n\r\nbody").find("200 OK"), std::string::npos);
  }
  EXPECT_EQ(server->stats().connections_open, 500);
}

TEST(Server, ClosesIdleConnections) {
  ServerOptions options;
  options.idle_timeout_seconds = 0.1;
  const auto server = StartEcho(options);
  RawClient client(server->port());
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST(Server, ClosesConnectionsWhoseHeadTakesTooLong) {
  ServerOptions options;
  options.head_timeout_seconds = 3;  // a client that is not slow may be late
  const auto server = StartEcho(options);
  RawClient client(server->port());
  client.Send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
  client.ReadUntil("/first");
  // Each byte is a sign of life, none ends the head.
  client.Send("GET /");
  while (client.IsOpen()) {
    ::send(client.fd(), "x", 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  RawClient other(server->port());
  other.Send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(other.ReadUntil("/other").find("200 OK"), std::string::npos);
}

TEST(Server, LetsConnectionsBeyondTheLimitWaitUntilOneEnds) {
  ServerOptions options;
  options.max_connections = 2;
  options.threads = 2;
  const auto server = StartEcho(options);
  const auto ask = [](RawClient& client, const std::string& path) {
    client.Send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  auto first = std::make_unique<RawClient>(server->port());
  RawClient second(server->port());
  ask(*first, "/1");
  ask(second, "/2");
  first->ReadUntil("/1");
  second.ReadUntil("/2");
  RawClient third(server->port());
  ask(third, "/3");
  ask(second, "/again");
  EXPECT_NE(second.ReadUntil("/again").find("/again"), std::string::npos);
  EXPECT_EQ(server->stats().connections_accepted, 2);
  first.reset();
  EXPECT_NE(third.ReadUntil("/3").find("200 OK"), std::string::npos);
}

TEST(Server, WhoSaysNothingMakesRoomForOthers) {
  ServerOptions options;
  options.max_connections = 4;
  options.threads = 2;
  options.idle_make_room = true;
  const auto server = StartEcho(options);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<RawClient>(server->port()));
  }
  RawClient reader(server->port());
  reader.Send("GET /reader HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(reader.ReadUntil("/reader").find("200 OK"), std::string::npos);
  EXPECT_EQ(silent.front()->ReadToEnd(), "");
}

TEST(Server, WhoOwesABodyMakesRoomForOthers) {
  ServerOptions options;
  options.max_connections = 4;
  options.threads = 2;
  options.idle_make_room = true;
  const auto server = StartEcho(options);
  std::vector<std::unique_ptr<RawClient>> owing;
  for (int i = 0; i < 20; ++i) {
    owing.push_back(std::make_unique<RawClient>(server->port()));
    owing.back()->Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
  }
  RawClient reader(server->port());
  reader.Send("GET /reader HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(reader.ReadUntil("/reader").find("200 OK"), std::string::npos);
}

TEST(Server, ABodyThatIsNotTakenIsRefusedBeforeItComes) {
  ServerOptions options;
  options.take_bodies = false;
  const auto server = StartEcho(options);
  for (const char* length : {"Content-Length: 1000000000000", "Transfer-Encoding: chunked"}) {
    RawClient client(server->port());
    client.Send(std::string("PUT /x HTTP/1.1\r\nHost: a\r\n") + length + "\r\n\r\n");
    EXPECT_NE(client.ReadToEnd().find("413"), std::string::npos) << length;
  }
  RawClient reader(server->port());
  reader.Send("GET /reader HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(reader.ReadUntil("/reader").find("200 OK"), std::string::npos);
}

/// A large body whose every piece that is received is followed by another, so that its connection is always ready.
class EndlessBody : public Exchange {
 public:
  struct Shared {
    int sender = -1;  ///< the client's end
    int other = -1;   ///< another client's, which has sent its request but for the last line end
    int64_t received = 0;
    std::atomic<int64_t> received_before_other = -1;
  };
  explicit EndlessBody(Shared& shared) : shared_(shared), memory_(256 << 10) {}
  std::span<std::byte> BodyMemory(size_t most) override {
    return std::as_writable_bytes(std::span(memory_)).first(std::min(most, memory_.size()));
  }
  void BodyReceived(size_t count) override {
    if (shared_.received == 0) {
      ::send(shared_.other, "\r\n", 2, MSG_NOSIGNAL);
    }
    shared_.received += static_cast<int64_t>(count);
    ::send(shared_.sender, memory_.data(), memory_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ServerResponse Finish(const Headers&) override { return TextResponse(200, "done"); }

 private:
  Shared& shared_;
  std::vector<char> memory_;
};

TEST(Server, ALargeBodyGivesWayToOthersAfterATurn) {
  EndlessBody::Shared shared;
  ServerOptions options;
  options.threads = 1;
  auto server = Server::Start(options, [&](const RequestHead& head) -> std::unique_ptr<Exchange> {
    if (head.path() == "/large") {
      return std::make_unique<EndlessBody>(shared);
    }
    shared.received_before_other = shared.received;
    return ReadyExchange(TextResponse(200, "other"));
  });
  ASSERT_TRUE(server.ok());
  RawClient large((*server)->port());
  RawClient other((*server)->port());
  shared.sender = large.fd();
  shared.other = other.fd();
  other.Send("GET /other HTTP/1.1\r\nHost: a\r\n");
  large.Send("PUT /large HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" + std::string(256 << 10, 'x'));
  EXPECT_NE(other.ReadUntil("\r\n\r\nother").find("200 OK"), std::string::npos);
  constexpr int64_t kTurnBytes = 4 << 20;
  EXPECT_LE(shared.received_before_other, 2 * kTurnBytes + (512 << 10)) << "the turn that was going on, and one more";
  (*server)->Stop();  // while the socket that the body comes from is open
}

TEST(Server, TakesALargeBodyThatComesWithPauses) {
  const auto server = StartEcho();
  RawClient client(server->port());
  const std::string body(600 << 10, 'b');
  client.Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  for (size_t at = 0; at < body.size(); at += 90'000) {
    client.Send(std::string_view(body).substr(at, 90'000));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  client.Send("GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_NE(answer.find(body), std::string::npos);
  EXPECT_NE(answer.find("X-Path: /last"), std::string::npos);
}

/// Sends a large body's head and a byte of it every 50 ms, and looks whether the connection is open after 1.5 s.
/// Nothing where a busy machine made a pause of `longest_pause_seconds`: so silent a client may be closed.
std::optional<bool> IsOpenAfterTrickle(RawClient& client, double longest_pause_seconds) {
  double last_sent_at = MonotonicSeconds();
  bool in_time = true;
  const auto check_time = [&](double sent_at) {
    in_time = in_time && MonotonicSeconds() - last_sent_at < longest_pause_seconds;
    last_sent_at = sent_at;
  };
  client.Send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n");
  for (int i = 0; i < 30; ++i) {
    const double now = MonotonicSeconds();
    ::send(client.fd(), "1", 1, MSG_NOSIGNAL);
    check_time(now);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const bool is_open = client.IsOpen();
  check_time(0);
  return in_time ? std::optional(is_open) : std::nullopt;
}

TEST(Server, IsPatientWithALargeBodyThatTrickles) {
  ServerOptions options;
  options.idle_timeout_seconds = 1;
  const auto server = StartEcho(options);
  std::optional<bool> is_open;
  for (int tries = 0; !is_open && tries < 60; ++tries) {
    RawClient client(server->port());
    is_open = IsOpenAfterTrickle(client, options.idle_timeout_seconds / 2);
    if (is_open) {
      EXPECT_EQ(client.ReadToEnd(), "");  // closed when nothing more comes
    }
  }
  EXPECT_TRUE(is_open.value_or(false)) << (is_open ? "it was closed" : "each try was held up");
}

TEST(Server, SaysInOneLineThatAPortIsInUse) {
  const auto server = StartEcho();
  ServerOptions options;
  options.port = server->port();
  const auto second = Server::Start(options, WholeBody(&Echo));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("the port is in use"), std::string::npos) << second.status().message();
}

}  // namespace
}  // namespace assay::http
