#include "http/server_stream.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "http/server.h"

namespace assay::http {
namespace {

/// Hands out what requests wait for, to be written by the test.
template <typename T>
class Mailbox {
 public:
  void Put(std::shared_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    came_.notify_all();
  }
  std::shared_ptr<T> Get(size_t number) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return items_.size() > number; });
    return items_[number];
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::shared_ptr<T>> items_;
};

class StreamClient {
 public:
  explicit StreamClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void Ask(const std::string& target, const std::string& method = "GET") {
    const std::string text = method + " " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
    ASSERT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  std::string ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      char buffer[4096];
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
      if (count <= 0) {
        ended_ = true;
        break;
      }
      received_.append(buffer, static_cast<size_t>(count));
    }
    return received_;
  }
  bool ended() const { return ended_; }
  void HangUp() { socket_.Reset(); }

 private:
  FileDescriptor socket_;
  std::string received_;
  bool ended_ = false;
};

class ServerStreamTest : public ::testing::Test {
 protected:
  std::unique_ptr<Server> StartServer() {
    const auto handler = [this](const RequestHead& head, std::string_view) {
      ServerResponse response;
      if (head.path() == "/stream") {
        response.stream = std::make_shared<ResponseStream>(64 << 10);
        streams_.Put(response.stream);
      } else if (head.path() == "/deferred") {
        response.deferred = std::make_shared<DeferredResponse>();
        deferred_.Put(response.deferred);
        if (head.query() == "now") {
          response.deferred->Set(TextResponse(200, "at once"));
        }
      } else {
        response = TextResponse(200, "plain");
      }
      return response;
    };
    return std::move(Server::Start({.threads = 1}, WholeBody(handler))).value();
  }

  /// False where it takes minutes.
  static bool Comes(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  Mailbox<ResponseStream> streams_;
  Mailbox<DeferredResponse> deferred_;
};

TEST_F(ServerStreamTest, WhatIsWrittenComesAtOnceInChunks) {
  const auto server = StartServer();
  StreamClient client(server->port());
  client.Ask("/stream");
  const auto stream = streams_.Get(0);
  EXPECT_NE(client.ReadUntil("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(stream->Write("first"));
  client.ReadUntil("5\r\nfirst\r\n");
  EXPECT_TRUE(stream->Write(std::string(300, 'x')));
  client.ReadUntil("12c\r\nxxx");
  stream->Close();
  EXPECT_FALSE(stream->Write("too late"));
  client.ReadUntil("\r\n0\r\n\r\n");
  EXPECT_FALSE(client.ended());
  client.Ask("/plain");
  EXPECT_NE(client.ReadUntil("plain\n").find("200 OK"), std::string::npos) << "the connection goes on";
}

TEST_F(ServerStreamTest, WhoHangsUpIsNoticedWithoutAWrite) {
  const auto server = StartServer();
  StreamClient client(server->port());
  client.Ask("/stream");
  const auto stream = streams_.Get(0);
  client.ReadUntil("\r\n\r\n");
  client.HangUp();
  EXPECT_TRUE(Comes([&] { return server->stats().connections_open == 0; }));
  EXPECT_FALSE(stream->Write("nobody reads it"));
}

TEST_F(ServerStreamTest, WhoDoesNotReadHoldsNobodyUpAndIsCutOff) {
  const auto server = StartServer();
  StreamClient lazy(server->port());
  StreamClient eager(server->port());
  lazy.Ask("/stream");
  const auto unread = streams_.Get(0);
  eager.Ask("/stream");
  const auto read = streams_.Get(1);
  const std::string block(16 << 10, 'b');
  // More than sockets and backlog hold: the writer is told, and never waits.
  EXPECT_TRUE(Comes([&] { return !unread->Write(block); }));
  EXPECT_TRUE(read->Write("still served"));
  EXPECT_NE(eager.ReadUntil("still served").find("still served"), std::string::npos);
  EXPECT_TRUE(Comes([&] { return server->stats().connections_open == 1; }));
}

TEST_F(ServerStreamTest, AHeadHasNoBodyAndItsStreamGoesNowhere) {
  const auto server = StartServer();
  StreamClient client(server->port());
  client.Ask("/stream", "HEAD");
  const auto stream = streams_.Get(0);
  client.ReadUntil("\r\n\r\n");
  EXPECT_FALSE(stream->Write("x"));
  client.Ask("/plain");
  client.ReadUntil("plain\n");
}

TEST_F(ServerStreamTest, ADeferredResponseComesWhenItIsMadeAndOthersAreServedMeanwhile) {
  const auto server = StartServer();
  StreamClient waiting(server->port());
  StreamClient other(server->port());
  waiting.Ask("/deferred");
  const auto deferred = deferred_.Get(0);
  other.Ask("/plain");
  other.ReadUntil("plain\n");
  std::thread maker([&] { deferred->Set(TextResponse(404, "made elsewhere")); });
  EXPECT_NE(waiting.ReadUntil("made elsewhere").find("404 Not Found"), std::string::npos);
  maker.join();
  waiting.Ask("/deferred?now");
  waiting.ReadUntil("at once");
}

TEST_F(ServerStreamTest, AResponseForWhoHasGoneIsDropped) {
  const auto server = StartServer();
  StreamClient client(server->port());
  client.Ask("/deferred");
  const auto deferred = deferred_.Get(0);
  client.HangUp();
  EXPECT_TRUE(Comes([&] { return server->stats().connections_open == 0; }));
  deferred->Set(TextResponse(200, "for nobody"));
}

TEST_F(ServerStreamTest, AStreamOutlivesItsServer) {
  auto server = StartServer();
  StreamClient client(server->port());
  client.Ask("/stream");
  const auto stream = streams_.Get(0);
  client.ReadUntil("\r\n\r\n");
  server.reset();
  EXPECT_FALSE(stream->Write("x"));
}

TEST(ChunkTest, IsItsLengthInHexadecimalAndItsBytes) {
  EXPECT_EQ(AsChunk("twenty-six bytes in a row!"), "1a\r\ntwenty-six bytes in a row!\r\n");
  EXPECT_EQ(AsChunk(""), "0\r\n\r\n");
}

}  // namespace
}  // namespace assay::http
