#include "http/client.h"

#include <curl/curl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "http/server.h"

namespace assay::http {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

ServerResponse Answer(const RequestHead& head, std::string_view body) {
  ServerResponse response;
  const std::string target = head.target;
  response.status = target.starts_with("/missing") ? 404 : 200;
  response.headers.Add("x-method", head.method);
  response.headers.Add("x-echo", head.headers.Find("x-send").value_or("none"));
  const bool echoes = head.method == "PUT" || head.method == "POST";
  response.body.push_back(BodyPiece::Text(echoes ? std::string(body) : "content of " + target));
  // Seconds that no test waits for.
  response.delay_seconds = target == "/slow" ? 30 : 0;
  response.cut = target == "/reset" ? CutKind::kReset : target == "/cut" ? CutKind::kClose : CutKind::kNone;
  response.cut = target == "/stall" ? CutKind::kStall : response.cut;
  response.cut_after_bytes = 3;
  return response;
}

class ClientTest : public testing::TestWithParam<Carrier> {
 protected:
  static ClientOptions With(ClientOptions options = {}) {
    options.carrier = GetParam();
    return options;
  }
  void StartServer() {
    auto server = Server::Start({}, WholeBody(Answer));
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  Transfer Get(const std::string& path) {
    Transfer transfer;
    transfer.request.url = server_->url() + path;
    return transfer;
  }

  std::unique_ptr<Server> server_;
};

TEST_P(ClientTest, GetsTextAndHeaders) {
  StartServer();
  Client client(With());
  Transfer transfer = Get("/a%20b?x=1");
  transfer.request.headers.Add("x-send", "over");
  const Outcome outcome = client.Run(std::move(transfer));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.status, 200);
  EXPECT_EQ(outcome.response.body, "content of /a%20b?x=1");
  EXPECT_EQ(outcome.response.headers.Find("x-echo"), "over");
  EXPECT_TRUE(outcome.response.new_connection);
}

TEST_P(ClientTest, SendsNoHeaderThatWouldBeTwo) {
  StartServer();
  Client client(With());
  Transfer transfer = Get("/");
  transfer.request.headers.Add("x-send", "a\r\nx-injected: b");
  const Outcome outcome = client.Run(std::move(transfer));
  EXPECT_EQ(outcome.error, TransportError::kUnsendable);
  EXPECT_EQ(server_->stats().connections_accepted, 0);
  EXPECT_TRUE(client.Run(Get("/")).ok());
}

TEST_P(ClientTest, KeepsTheConnection) {
  StartServer();
  Client client(With());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.Run(Get("/")).response.new_connection, i == 0);
  }
  EXPECT_EQ(server_->stats().connections_accepted, 1);
}

TEST_P(ClientTest, FillsMemoryExactly) {
  StartServer();
  Client client(With());
  for (const int difference : {-1, 0, 1}) {
    const std::string expected = "content of /x";
    std::string memory(static_cast<size_t>(static_cast<int>(expected.size()) + difference), '?');
    MemorySink sink(std::as_writable_bytes(std::span(memory)));
    Transfer transfer = Get("/x");
    transfer.sink = &sink;
    const Outcome outcome = client.Run(std::move(transfer));
    EXPECT_EQ(outcome.error, difference == 0 ? TransportError::kNone : TransportError::kRejected);
    EXPECT_EQ(memory == expected, difference == 0);
  }
}

TEST_P(ClientTest, AFailedAnswerDoesNotTouchTheSink) {
  StartServer();
  Client client(With());
  MemorySink sink;
  Transfer transfer = Get("/missing");
  transfer.sink = &sink;
  const Outcome outcome = client.Run(std::move(transfer));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.response.status, 404);
  EXPECT_EQ(outcome.response.body, "content of /missing");
}

TEST_P(ClientTest, SendsScatteredPieces) {
  StartServer();
  Client client(With());
  const std::string large(3 << 20, 'l');
  for (const char* method : {"PUT", "POST"}) {
    Transfer transfer = Get("/");
    transfer.request.method = method;
    transfer.request.body = {BytesOf("one"), BytesOf(""), BytesOf(large), BytesOf("two")};
    const Outcome outcome = client.Run(std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
    EXPECT_EQ(outcome.response.headers.Find("x-method"), method);
    EXPECT_EQ(outcome.response.body, std::string("one").append(large).append("two"));
  }
}

/// Counts what is taken from where it lies.
class CountingSource : public SpanSource {
 public:
  using SpanSource::SpanSource;
  void Skip(size_t count) override {
    skipped += count;
    SpanSource::Skip(count);
  }
  size_t skipped = 0;
};

TEST_P(ClientTest, SendsMostOfALargeBodyFromWhereItLies) {
  if (GetParam() == Carrier::kLibcurl && curl_version_info(CURLVERSION_NOW)->version_num >= 0x080700) {
    GTEST_SKIP() << "libcurl promises less order";
  }
  StartServer();
  Client client(With());
  std::string large(12 << 20, ' ');
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * 2654435761U >> 13);
  }
  for (int i = 0; i < 3; ++i) {  // the first time on a new connection
    CountingSource source({BytesOf(large).first(7 << 20), BytesOf("").first(0), BytesOf(large).subspan(7 << 20)});
    Transfer transfer = Get("/");
    transfer.request.method = "PUT";
    transfer.source = &source;
    const Outcome outcome = client.Run(std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
    EXPECT_TRUE(outcome.response.body == large);
    EXPECT_GT(source.skipped, large.size() / 2);
  }
  EXPECT_EQ(server_->stats().connections_accepted, 1);
}

/// Shows memory that nobody can read, and reads what should be there.
class UnreadableSource : public SpanSource {
 public:
  explicit UnreadableSource(std::span<const std::byte> content) : SpanSource({content}), bytes_(content.size()) {}
  ~UnreadableSource() override { ::munmap(memory_, bytes_); }
  std::span<const std::byte> Peek(size_t most) const override {
    return {static_cast<const std::byte*>(memory_), SpanSource::Peek(most).size()};
  }

 private:
  size_t bytes_;
  void* memory_ = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

TEST_P(ClientTest, ReadsWhatCannotBeSentFromWhereItLies) {
  StartServer();
  Client client(With());
  const std::string large(3 << 20, 'l');
  UnreadableSource source(BytesOf(large));
  Transfer transfer = Get("/");
  transfer.request.method = "PUT";
  transfer.source = &source;
  const Outcome outcome = client.Run(std::move(transfer));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_TRUE(outcome.response.body == large);
}

TEST_P(ClientTest, MethodsFollowEachOtherOnOneHandle) {
  StartServer();
  Client client(With());
  for (const char* method : {"PUT", "GET", "DELETE", "HEAD", "POST", "GET"}) {
    Transfer transfer = Get("/");
    transfer.request.method = method;
    const Outcome outcome = client.Run(std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << method << ": " << outcome.detail;
    EXPECT_EQ(outcome.response.headers.Find("x-method"), method);
    EXPECT_EQ(outcome.response.body.empty(), std::string(method) != "GET" && std::string(method) != "DELETE");
  }
}

TEST_P(ClientTest, NobodyListens) {
  StartServer();
  Transfer transfer = Get("/");
  server_.reset();
  Client client(With());
  const Outcome outcome = client.Run(std::move(transfer));
  EXPECT_EQ(outcome.error, TransportError::kConnect);
}

TEST_P(ClientTest, UnknownHost) {
  Client client(With());
  Transfer transfer;
  transfer.request.url = "http://no-such-host.invalid/";
  EXPECT_EQ(client.Run(std::move(transfer)).error, TransportError::kResolve);
}

TEST_P(ClientTest, TotalTimeout) {
  StartServer();
  Client client(With());
  Transfer transfer = Get("/slow");
  transfer.total_timeout_seconds = 0.1;
  EXPECT_EQ(client.Run(std::move(transfer)).error, TransportError::kTimeout);
}

TEST_P(ClientTest, BrokenAnswers) {
  StartServer();
  Client client(With());
  EXPECT_EQ(client.Run(Get("/reset")).error, TransportError::kReset);
  EXPECT_EQ(client.Run(Get("/cut")).error, TransportError::kTruncated);
  Client impatient(With({.stall_timeout_seconds = 1}));
  EXPECT_EQ(impatient.Run(Get("/stall")).error, TransportError::kStall);
}

/// A server that answers with `status` and a body of `pieces` MiB, below as many headers as named.
std::unique_ptr<Server> StartLarge(int status, int pieces, int headers, const ServerOptions& options = {}) {
  auto server = Server::Start(options, WholeBody([=](const RequestHead&, std::string_view) {
                                ServerResponse response;
                                response.status = status;
                                for (int i = 0; i < headers; ++i) {
                                  response.headers.Add("x-filler-" + std::to_string(i), std::string(1000, 'h'));
                                }
                                for (int i = 0; i < pieces; ++i) {
                                  response.body.push_back(BodyPiece::Text(std::string(1 << 20, 'b')));
                                }
                                return response;
                              }));
  EXPECT_TRUE(server.ok());
  return std::move(server).value();
}

TEST_P(ClientTest, AnswersThatAreKeptAreBounded) {
  server_ = StartLarge(200, 40, 0);
  Client client(With());
  const Outcome large = client.Run(Get("/"));
  EXPECT_EQ(large.error, TransportError::kTooLarge);
  EXPECT_EQ(large.detail, "its body has more than 32 MiB");
  EXPECT_LE(large.response.body.size(), static_cast<size_t>(kMaxKeptBytes));
  std::string memory(40 << 20, '?');
  MemorySink sink(std::as_writable_bytes(std::span(memory)));
  Transfer transfer = Get("/");
  transfer.sink = &sink;
  EXPECT_TRUE(client.Run(std::move(transfer)).ok()) << "what goes elsewhere is not";
}

TEST_P(ClientTest, OfALongErrorTheBeginningIsRead) {
  server_ = StartLarge(500, 8, 0);
  Client client(With());
  const Outcome outcome = client.Run(Get("/"));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(outcome.response.status, 500);
  EXPECT_EQ(outcome.response.body, std::string(kMaxErrorBytes, 'b'));
  EXPECT_TRUE(client.Run(Get("/")).ok()) << "the next request has a connection of its own";
}

TEST_P(ClientTest, HeadersAreBounded) {
  server_ = StartLarge(200, 0, 300);
  Client client(With());
  const Outcome outcome = client.Run(Get("/"));
  EXPECT_EQ(outcome.error, TransportError::kTooLarge);
  EXPECT_EQ(outcome.detail, "more than 256 KiB of headers");
}

TEST_P(ClientTest, ABodyThatTricklesIsAStall) {
  ServerOptions slow;
  slow.network.connection_bytes_per_s = 900;
  server_ = StartLarge(200, 1, 0, slow);
  Client client(With({.stall_timeout_seconds = 2}));
  std::string memory(1 << 20, '?');
  MemorySink sink(std::as_writable_bytes(std::span(memory)));
  Transfer transfer = Get("/");
  transfer.sink = &sink;
  const Outcome outcome = client.Run(std::move(transfer));
  EXPECT_EQ(outcome.error, TransportError::kStall);
  EXPECT_EQ(outcome.detail, "less than 1024 bytes a second of the answer came for 2 seconds");
}

TEST_P(ClientTest, CancelEndsWithACallback) {
  StartServer();
  std::atomic<int> cancelled = 0;
  {
    Client client(With({.max_connections = 1}));
    const auto count = [&cancelled](Outcome outcome) { cancelled += outcome.error == TransportError::kCancelled; };
    const TransferId first = client.Start(Get("/slow"), count);
    client.Start(Get("/slow"), count);  // it may begin before the client ends
    client.Cancel(first);
  }
  EXPECT_EQ(cancelled, 2);
}

TEST_P(ClientTest, ManyAtATime) {
  StartServer();
  std::atomic<int> right = 0;
  constexpr int kTransfers = 500;
  {
    Client client(With({.max_connections = 8}));
    std::atomic<int> left = kTransfers;
    for (int i = 0; i < kTransfers; ++i) {
      const std::string path = std::string("/").append(std::to_string(i));
      client.Start(Get(path), [&, path](Outcome outcome) {
        right += outcome.ok() && outcome.response.body == "content of " + path;
        --left;
        left.notify_one();
      });
    }
    for (int now = left; now > 0; now = left) {
      left.wait(now);
    }
  }
  EXPECT_EQ(right, kTransfers);
  EXPECT_LE(server_->stats().connections_accepted, 8);
}

TEST_P(ClientTest, ThreadsHaveConnectionsOfTheirOwn) {
  StartServer();
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> cancelled = 0;
  {
    Client client(With({.max_connections = 5, .io_threads = 3}));
    for (int i = 0; i < 6; ++i) {  // one more than there are connections
      client.Start(Get("/slow"), [&](const Outcome& outcome) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        cancelled += outcome.error == TransportError::kCancelled;
      });
    }
    while (server_->stats().connections_accepted < 5) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(threads.size(), 3U);
  EXPECT_EQ(cancelled, 6);
  EXPECT_EQ(server_->stats().connections_accepted, 5);
}

TEST_P(ClientTest, WhatACallbackStartsWhileTheClientEndsIsCancelledToo) {
  StartServer();
  std::atomic<int> cancelled = 0;
  {
    Client client(With({.io_threads = 2}));
    for (int i = 0; i < 2; ++i) {
      client.Start(Get("/slow"), [&](const Outcome&) {
        for (int other = 0; other < 2; ++other) {
          client.Start(Get("/slow"),
                       [&](const Outcome& outcome) { cancelled += outcome.error == TransportError::kCancelled; });
        }
      });
    }
  }
  EXPECT_EQ(cancelled, 4);
}

TEST_P(ClientTest, BandwidthIsCapped) {
  StartServer();
  Client client(With({.io_threads = 2, .bandwidth_bytes_per_s = 4 << 20}));
  const std::string body(1 << 20, 'b');
  Transfer transfer = Get("/");
  transfer.request.method = "PUT";
  transfer.request.body = {BytesOf(body)};
  const double start = MonotonicSeconds();
  const Outcome outcome = client.Run(std::move(transfer));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.response.body, body);
  // One MiB each way, less what may pass at once.
  EXPECT_GE(MonotonicSeconds() - start, 0.3);
}

TEST_P(ClientTest, FetchSaysWhatFailed) {
  Client client(With());
  Request request;
  request.url = "http://no-such-host.invalid/path?secret=1";
  const auto result = client.Fetch(std::move(request));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("GET http://no-such-host.invalid/path: unknown host"), std::string::npos)
      << result.status().message();
  EXPECT_EQ(result.status().message().find("secret"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Carriers, ClientTest, testing::Values(Carrier::kDirect, Carrier::kLibcurl),
                         [](const auto& info) { return info.param == Carrier::kDirect ? "Own" : "Libcurl"; });

}  // namespace
}  // namespace assay::http
