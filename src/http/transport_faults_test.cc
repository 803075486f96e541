// What a peer may do to a client, over each of its carriers: none hangs, and each end has its name.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "http/client.h"
#include "http/scripted_peer.h"
#include "http/tls_peer.h"

namespace assay::http {
namespace {

using Errors = std::vector<TransportError>;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// How the bytes travel.
struct Way {
  Carrier carrier;
  bool tls;
};

std::string NameOfWay(const testing::TestParamInfo<Way>& info) {
  return std::string(info.param.carrier == Carrier::kDirect ? "Own" : "Libcurl") + (info.param.tls ? "Tls" : "");
}

class TransportFaultsTest : public testing::TestWithParam<Way> {
 protected:
  static const TlsIdentity& Identity() {
    static const TlsIdentity identity("IP:127.0.0.1");
    return identity;
  }
  /// A peer that speaks TLS where the way does.
  class Peer : public ScriptedPeer {
   public:
    explicit Peer(Script script)
        : ScriptedPeer(std::move(script), GetParam().tls ? Identity().accept() : ScriptedPeer::Plain()) {}
  };
  static constexpr double kPatientSeconds = 300;  // for what is no stall however slow the machine is
  static ClientOptions Options(double stall_seconds = kPatientSeconds) {
    return {.carrier = GetParam().carrier,
            .stall_timeout_seconds = stall_seconds,
            .ca_file = GetParam().tls ? Identity().certificate_file() : "",
            .use_proxy = false};
  }
  static Outcome Ask(const ScriptedPeer& peer, Transfer transfer = {}, double stall_seconds = kPatientSeconds) {
    Client client(Options(stall_seconds));
    return Ask(client, peer, std::move(transfer));
  }
  static Outcome AskImpatiently(const ScriptedPeer& peer, Transfer transfer = {}) {
    return Ask(peer, std::move(transfer), /*stall_seconds=*/1);
  }
  static Outcome Ask(Client& client, const ScriptedPeer& peer, Transfer transfer = {}) {
    transfer.request.url = peer.url(GetParam().tls ? "https" : "http") + "/object";
    return client.Run(std::move(transfer));
  }
  /// How the answer `text` ends, after which the peer hangs up.
  static Outcome Answered(std::string_view text) {
    const Peer peer([text](PeerSocket& socket, int) {
      socket.ReceiveHead();
      socket.Send(text);
      socket.HangUp();
    });
    return Ask(peer);
  }
  static bool IsOneOf(TransportError error, const Errors& errors) {
    return std::ranges::find(errors, error) != errors.end();
  }
};

TEST_P(TransportFaultsTest, ComesInAnyPieces) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.SendSlowly(
        "HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n1;a=b\r\n,\r\n6\r\n world\r\n0\r\nx-trailer: z\r\n\r\n");
    socket.AwaitEnd();
  });
  Client client(Options());
  const Outcome outcome = Ask(client, peer);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.status, 200);
  EXPECT_EQ(outcome.response.body, "hello, world");
}

TEST_P(TransportFaultsTest, WithoutALengthTheEndIsTheEnd) {
  const Outcome outcome = Answered("HTTP/1.0 200 OK\r\n\r\nhello");
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.body, "hello");
}

TEST_P(TransportFaultsTest, AnswersThatAreNone) {
  EXPECT_TRUE(IsOneOf(Answered("SSH-2.0-OpenSSH_9.2\r\n").error, {TransportError::kProtocol}));
  EXPECT_TRUE(IsOneOf(Answered("HTTP/1.1 abc\r\n\r\n").error, {TransportError::kProtocol}));
  const Outcome chunk = Answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n");
  EXPECT_TRUE(IsOneOf(chunk.error, {TransportError::kProtocol, TransportError::kReset})) << NameOf(chunk.error);
}

TEST_P(TransportFaultsTest, EndsThatComeTooSoon) {
  EXPECT_EQ(Answered("").error, TransportError::kReset);
  EXPECT_EQ(Answered("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello").error, TransportError::kTruncated);
  EXPECT_EQ(Answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello").error,
            TransportError::kTruncated);
}

TEST_P(TransportFaultsTest, AResetInMidBody) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
    socket.Reset();
  });
  const Outcome outcome = Ask(peer);
  EXPECT_TRUE(IsOneOf(outcome.error, {TransportError::kReset, TransportError::kTruncated})) << NameOf(outcome.error);
}

TEST_P(TransportFaultsTest, AResetIsSeenByWhoWaitsForBandwidth) {
  if (GetParam().carrier == Carrier::kLibcurl) {
    GTEST_SKIP() << "libcurl looks when its turn comes";
  }
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + std::string(100'000, 'b'));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    socket.Reset();
  });
  ClientOptions options = Options();
  options.bandwidth_bytes_per_s = 10;
  Client client(options);
  const Outcome outcome = Ask(client, peer);
  EXPECT_TRUE(IsOneOf(outcome.error, {TransportError::kReset, TransportError::kTruncated})) << NameOf(outcome.error);
  EXPECT_LT(outcome.response.total_seconds, 1600) << "what came with the head has taken the bandwidth of 1600 s";
}

TEST_P(TransportFaultsTest, AnEndlessHead) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\n");
    while (socket.Send("x-filler: " + std::string(1000, 'h') + "\r\n")) {
    }
  });
  EXPECT_EQ(Ask(peer).error, TransportError::kTooLarge);
}

TEST_P(TransportFaultsTest, EndlessInterimAnswers) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    while (socket.Send("HTTP/1.1 102 Processing\r\n\r\n")) {
    }
  });
  Client client(Options());
  EXPECT_EQ(Ask(client, peer).error, TransportError::kTooLarge);
}

TEST_P(TransportFaultsTest, AHeadThatTrickles) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\n");
    while (socket.SendSlowly("x: y\r\n", 20)) {
    }
  });
  EXPECT_EQ(AskImpatiently(peer).error, TransportError::kStall);
}

// Bytes that are no body are no progress.
TEST_P(TransportFaultsTest, ChunksThatTrickle) {
  for (const std::string_view between : {"5;extension=", "5\r\nhello\r\n0\r\ntrailer: "}) {
    const Peer peer([between](PeerSocket& socket, int) {
      socket.ReceiveHead();
      socket.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      socket.Send(between);
      while (socket.SendSlowly("x", 20)) {
      }
    });
    EXPECT_EQ(AskImpatiently(peer).error, TransportError::kStall) << between;
  }
}

TEST_P(TransportFaultsTest, ABodyThatStops) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + std::string(100000, 'b'));
    socket.AwaitEnd();
  });
  std::vector<std::byte> memory(5000000);
  size_t received = 0;
  for (int tries = 0; tries < 30 && received != 100000;
       ++tries) {  // a busy machine may be as impatient before it comes
    MemorySink sink(memory);
    Transfer transfer;
    transfer.sink = &sink;
    EXPECT_EQ(AskImpatiently(peer, std::move(transfer)).error, TransportError::kStall);
    received = sink.received();
  }
  EXPECT_EQ(received, 100000) << "what had come is taken";
}

TEST_P(TransportFaultsTest, APeerThatDoesNotRead) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    socket.AwaitEnd();
  });
  const std::vector<std::byte> body(64 << 20);
  Transfer transfer;
  transfer.request.method = "PUT";
  transfer.request.body = {body};
  EXPECT_EQ(AskImpatiently(peer, std::move(transfer)).error, TransportError::kStall);
}

// The system has all of it at once.
TEST_P(TransportFaultsTest, APeerThatReadsSlowly) {
  const std::vector<std::byte> body(4 << 20);
  const Peer peer([&body](PeerSocket& socket, int) {
    constexpr size_t kStepBytes = 64 << 10;
    size_t pause_at = 0;
    for (size_t received = socket.ReceiveHead().size(); received < body.size();) {
      if (received >= pause_at) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        pause_at = received + kStepBytes;
      }
      const size_t count = socket.Receive().size();
      if (count == 0) {
        return;
      }
      received += count;
    }
    socket.Send(kOk);
    socket.AwaitEnd();
  });
  Transfer transfer;
  transfer.request.method = "PUT";
  transfer.request.body = {body};
  const Outcome outcome = Ask(peer, std::move(transfer));
  EXPECT_TRUE(outcome.ok()) << outcome.detail;
}

TEST_P(TransportFaultsTest, AnAnswerBeforeTheBodyIsSent) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    socket.AwaitEnd();
  });
  const std::vector<std::byte> body(64 << 20);
  Transfer transfer;
  transfer.request.method = "PUT";
  transfer.request.body = {body};
  const Outcome outcome = Ask(peer, std::move(transfer));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.status, 403);
  EXPECT_EQ(outcome.response.body, "no");
}

// Who says that it has an object before it has come may still want it.
TEST_P(TransportFaultsTest, ASuccessBeforeTheBodyIsSentIsNone) {
  const std::vector<std::byte> body(64 << 20);
  std::atomic<size_t> received = 0;
  const auto put = [&body](const std::function<void(PeerSocket&)>& go_on) {
    const Peer peer([&go_on](PeerSocket& socket, int) {
      socket.ReceiveHead();
      socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      go_on(socket);
    });
    Transfer transfer;
    transfer.request.method = "PUT";
    transfer.request.body = {body};
    return Ask(peer, std::move(transfer));
  };
  const Outcome read = put([&](PeerSocket& socket) {
    for (std::string some = socket.Receive(); !some.empty(); some = socket.Receive()) {
      received += some.size();
    }
  });
  ASSERT_TRUE(read.ok()) << read.detail;
  EXPECT_EQ(read.response.status, 200);
  EXPECT_GE(received + 4096, body.size()) << "some came with the head";
  EXPECT_EQ(put([](PeerSocket& socket) { socket.HangUp(); }).error, TransportError::kReset);
}

TEST_P(TransportFaultsTest, AKeptConnectionThatIsDead) {
  const Peer peer([](PeerSocket& socket, int number) {
    socket.ReceiveHead();
    socket.Send(kOk);
    if (number == 0) {
      socket.ReceiveHead();
      return socket.Reset();
    }
    socket.AwaitEnd();
  });
  Client client(Options());
  ASSERT_TRUE(Ask(client, peer).ok());
  Transfer transfer;
  const std::vector<std::byte> body(100);
  transfer.request.method = "PUT";
  transfer.request.body = {body};
  const Outcome outcome = Ask(client, peer, std::move(transfer));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_TRUE(outcome.response.new_connection);
  EXPECT_EQ(peer.connections(), 2);
}

TEST_P(TransportFaultsTest, MoreThanTheAnswerIsNoAnswer) {
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    socket.AwaitEnd();
  });
  Client client(Options());
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = Ask(client, peer);
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
    EXPECT_EQ(outcome.response.body, "hello") << "of request " << i;
  }
}

// The end of a large body lies in the memory of who asked for it, and what comes behind it elsewhere.
TEST_P(TransportFaultsTest, MoreThanALargeAnswerIsNoAnswer) {
  if (GetParam().carrier == Carrier::kLibcurl && GetParam().tls) {
    GTEST_SKIP() << "libcurl takes it for the next one";
  }
  const std::string content(40 << 10, 'c');
  const Peer peer([&content](PeerSocket& socket, int) {
    socket.ReceiveHead();
    const std::string size = std::to_string(content.size());
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\n" + content +
                "HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\n" + std::string(content.size(), 'e'));
    socket.AwaitEnd();
  });
  Client client(Options());
  for (int i = 0; i < 3; ++i) {
    std::vector<std::byte> memory(content.size());
    MemorySink sink(memory);
    Transfer transfer;
    transfer.sink = &sink;
    const Outcome outcome = Ask(client, peer, std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
    EXPECT_EQ(std::ranges::count(memory, std::byte{'c'}), std::ssize(content)) << "of request " << i;
    EXPECT_TRUE(outcome.response.new_connection);
  }
}

TEST_P(TransportFaultsTest, WhatCameBeforeTheRequestIsNoAnswer) {
  if (GetParam().carrier == Carrier::kLibcurl) {
    GTEST_SKIP() << "libcurl looks at what it has just kept no more than once a second";
  }
  std::promise<void> answered;
  std::promise<void> more_sent;
  const Peer peer([&](PeerSocket& socket, int number) {
    socket.ReceiveHead();
    socket.Send(kOk);
    if (number == 0) {
      answered.get_future().wait();
      socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
      socket.AwaitArrival();
      more_sent.set_value();
    }
    socket.AwaitEnd();
  });
  std::promise<Outcome> second;
  ClientOptions options = Options();
  options.io_threads = 1;
  Client client(options);
  Transfer transfer;
  transfer.request.url = peer.url(GetParam().tls ? "https" : "http") + "/object";
  // Its thread is kept busy while the answer that nobody has asked for comes.
  client.Start(transfer, [&](const Outcome&) {
    answered.set_value();
    more_sent.get_future().wait();
    client.Start(transfer, [&](Outcome outcome) { second.set_value(std::move(outcome)); });
  });
  const Outcome outcome = second.get_future().get();
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.body, "hello");
  EXPECT_EQ(peer.connections(), 2);
}

/// No file can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_P(TransportFaultsTest, WithoutDescriptorsItSaysSo) {
  if (GetParam().carrier == Carrier::kLibcurl) {
    GTEST_SKIP() << "to libcurl that is a connection that cannot be made";
  }
  const Peer peer([](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    socket.HangUp();
  });
  Client client(Options());
  ASSERT_TRUE(Ask(client, peer).ok());
  {
    const NoDescriptors none;
    EXPECT_THAT(Ask(client, peer).detail, testing::HasSubstr("ulimit -n"));
    Client made_now(Options());
    EXPECT_THAT(Ask(made_now, peer).detail, testing::HasSubstr("ulimit -n"));
  }
  EXPECT_TRUE(Ask(client, peer).ok()) << "the address is not passed over for it";
}

INSTANTIATE_TEST_SUITE_P(Ways, TransportFaultsTest,
                         testing::Values(Way{Carrier::kDirect, false}, Way{Carrier::kLibcurl, false},
                                         Way{Carrier::kDirect, true}, Way{Carrier::kLibcurl, true}),
                         &NameOfWay);

/// What only TLS knows.
class TlsFaultsTest : public TransportFaultsTest {};

TEST_P(TlsFaultsTest, AnEndWithoutGoodbyeIsNoEnd) {
  const auto cut = [](std::string_view text) {
    const Peer peer([text](PeerSocket& socket, int) {
      socket.ReceiveHead();
      socket.Send(text);
    });
    return Ask(peer);
  };
  EXPECT_TRUE(cut(kOk).ok()) << "all that was announced has come";
  if (GetParam().carrier == Carrier::kDirect) {  // libcurl takes it for whole
    EXPECT_EQ(cut("HTTP/1.1 200 OK\r\n\r\nhello").error, TransportError::kReset);
  }
  const Outcome part = cut("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
  EXPECT_TRUE(IsOneOf(part.error, {TransportError::kReset, TransportError::kTruncated})) << NameOf(part.error);
}

TEST_P(TlsFaultsTest, WhoCannotBeKnownIsRefused) {
  const auto script = [](PeerSocket& socket, int) {
    socket.ReceiveHead();
    socket.Send(kOk);
    socket.HangUp();
  };
  const TlsIdentity elsewhere("DNS:elsewhere");
  const TlsIdentity stranger("IP:127.0.0.1");
  const auto ask = [&script](const TlsIdentity& identity, ClientOptions options) {
    const ScriptedPeer peer(script, identity.accept());
    Client client(std::move(options));
    return Ask(client, peer);
  };
  ClientOptions options = Options();
  EXPECT_EQ(ask(stranger, options).error, TransportError::kTls) << "another key";
  options.ca_file.clear();
  EXPECT_EQ(ask(Identity(), options).error, TransportError::kTls) << "the system does not know it";
  options.verify_tls = false;
  EXPECT_TRUE(ask(Identity(), options).ok());
  options.verify_tls = true;
  options.ca_file = elsewhere.certificate_file();
  const Outcome other = ask(elsewhere, options);
  EXPECT_EQ(other.error, TransportError::kTls) << "a certificate for another name";
  EXPECT_NE(other.detail, "");
  options.ca_file = "/nowhere/authorities.pem";
  EXPECT_EQ(ask(Identity(), options).error, TransportError::kTls);
}

TEST_P(TlsFaultsTest, WhoGreetsAndThenSaysNothing) {
  const ScriptedPeer peer([](PeerSocket& socket, int) { socket.AwaitEnd(); }, Identity().accept());
  ClientOptions options = Options(/*stall_seconds=*/1);
  options.connect_timeout_seconds = 3600;
  Client client(options);
  const Outcome outcome = Ask(client, peer);
  EXPECT_EQ(outcome.error, TransportError::kStall);
  EXPECT_LT(outcome.response.total_seconds, options.connect_timeout_seconds / 2);
}

TEST_P(TlsFaultsTest, WhoDoesNotGreet) {
  const ScriptedPeer silent([](PeerSocket& socket, int) { socket.AwaitEnd(); });
  ClientOptions options = Options();
  options.connect_timeout_seconds = 1;
  {
    Client client(options);
    EXPECT_EQ(Ask(client, silent).error, TransportError::kConnectTimeout);
  }
  options.connect_timeout_seconds = kPatientSeconds;
  const ScriptedPeer plain([](PeerSocket& socket, int) {
    socket.Receive();
    socket.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  Client client(options);
  EXPECT_EQ(Ask(client, plain).error, TransportError::kTls);
}

INSTANTIATE_TEST_SUITE_P(Ways, TlsFaultsTest,
                         testing::Values(Way{Carrier::kDirect, true}, Way{Carrier::kLibcurl, true}), &NameOfWay);

}  // namespace
}  // namespace assay::http
