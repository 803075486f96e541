#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "http/client.h"
#include "http/server.h"
#include "http/tls_peer.h"

namespace assay::http {
namespace {

std::string Noise(size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>(i * 2654435761U >> 13);
  }
  return text;
}

class TlsServerTest : public testing::TestWithParam<Carrier> {
 protected:
  ServerOptions Options() const {
    ServerOptions options;
    options.tls_certificate_file = identity_.certificate_file();
    options.tls_key_file = identity_.key_file();
    return options;
  }
  ClientOptions WithAuthority() const {
    return {.carrier = GetParam(), .ca_file = identity_.certificate_file(), .use_proxy = false};
  }

  const TlsIdentity identity_{"IP:127.0.0.1"};
};

TEST(TlsClient, AsksForTheSuiteThatCostsLeast) {
  const TlsIdentity identity("IP:127.0.0.1");
  std::string suite;
  {
    const ScriptedPeer peer(
        [&suite](PeerSocket& socket, int) {
          socket.ReceiveHead();
          suite = static_cast<TlsPeerSocket&>(socket).suite();
          socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
          socket.HangUp();
        },
        identity.accept());
    Client client({.carrier = Carrier::kDirect, .ca_file = identity.certificate_file(), .use_proxy = false});
    Transfer transfer;
    transfer.request.method = "GET";
    transfer.request.url = peer.url("https") + "/";
    const Outcome outcome = client.Run(std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
  }
  EXPECT_EQ(suite, "TLS_AES_128_GCM_SHA256");
}

TEST_P(TlsServerTest, TellsHowItIsReached) {
  const auto server = *Server::Start(Options(), WholeBody([](const RequestHead& head, std::string_view) {
                                       ServerResponse response;
                                       response.body.push_back(BodyPiece::Text(head.origin()));
                                       return response;
                                     }));
  Client client(WithAuthority());
  Transfer transfer;
  transfer.request.url = server->url() + "/path?query";
  EXPECT_EQ(client.Run(std::move(transfer)).response.body, server->url());
}

TEST_P(TlsServerTest, EchoesLargeBodiesOverOneConnection) {
  const auto server = *Server::Start(Options(), WholeBody([](const RequestHead&, std::string_view body) {
                                       ServerResponse response;
                                       response.body.push_back(BodyPiece::Text(std::string(body)));
                                       response.body.push_back(BodyPiece::Text("."));
                                       return response;
                                     }));
  EXPECT_TRUE(server->url().starts_with("https://"));
  Client client(WithAuthority());
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{16384}, size_t{300'000}, size_t{9'000'001}}) {
    const std::string content = Noise(bytes);
    std::string back(bytes + 1, '?');
    MemorySink sink(std::as_writable_bytes(std::span(back)));
    Transfer transfer;
    transfer.request.method = "PUT";
    transfer.request.url = server->url() + "/";
    transfer.request.body = {std::as_bytes(std::span(content))};
    transfer.sink = &sink;
    const Outcome outcome = client.Run(std::move(transfer));
    ASSERT_TRUE(outcome.ok()) << outcome.detail;
    EXPECT_TRUE(back == content + ".") << bytes;
  }
  EXPECT_EQ(server->stats().connections_accepted, 1);
}

TEST_P(TlsServerTest, SendsFiles) {
  const auto folder = *TemporaryDirectory::Create("tls-server");
  const std::string content = Noise(3'000'000);
  const std::string path = folder.path() + "/content";
  ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  const auto server = *Server::Start(Options(), WholeBody([&path](const RequestHead&, std::string_view) {
                                       auto file = std::make_shared<FileDescriptor>(OpenFile(path.c_str(), O_RDONLY));
                                       ServerResponse response;
                                       response.body.push_back(BodyPiece::File(std::move(file), 1'000, 2'000'000));
                                       return response;
                                     }));
  Client client(WithAuthority());
  Transfer transfer;
  transfer.request.url = server->url() + "/";
  const Outcome outcome = client.Run(std::move(transfer));
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_TRUE(outcome.response.body == content.substr(1'000, 2'000'000));
}

INSTANTIATE_TEST_SUITE_P(Carriers, TlsServerTest, testing::Values(Carrier::kDirect, Carrier::kLibcurl),
                         [](const auto& info) { return info.param == Carrier::kDirect ? "Own" : "Libcurl"; });

TEST(TlsServerContext, SaysWhatIsWrongWithItsFiles) {
  const TlsIdentity one("IP:127.0.0.1");
  const TlsIdentity other("IP:127.0.0.1");
  const auto start = [](const std::string& certificate, const std::string& key) {
    ServerOptions options;
    options.tls_certificate_file = certificate;
    options.tls_key_file = key;
    return Server::Start(options, WholeBody([](const RequestHead&, std::string_view) { return ServerResponse(); }));
  };
  EXPECT_NE(start("/nowhere.pem", one.key_file()).status().message().find("certificate in /nowhere.pem"),
            std::string::npos);
  EXPECT_NE(start(one.certificate_file(), other.key_file()).status().message().find(other.key_file()),
            std::string::npos);
  EXPECT_TRUE(start(one.certificate_file(), one.key_file()).ok());
}

}  // namespace
}  // namespace assay::http
