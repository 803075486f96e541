// For tests: a server that does with each connection what a test says, byte by byte.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"

namespace assay::http {

/// A connection that a peer has accepted. Its members block.
class PeerSocket {
 public:
  explicit PeerSocket(FileDescriptor socket) : socket_(std::move(socket)) {}
  virtual ~PeerSocket() = default;

  /// False: the client has gone.
  virtual bool Send(std::string_view text) {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// Empty: the client has gone.
  virtual std::string Receive() {
    char buffer[4096];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    return count > 0 ? std::string(buffer, static_cast<size_t>(count)) : "";
  }
  /// The head of a request, and whatever came with it.
  std::string ReceiveHead() {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const std::string some = Receive();
      if (some.empty()) {
        break;
      }
      head += some;
    }
    return head;
  }
  /// False: the client has gone.
  bool SendSlowly(std::string_view text, int milliseconds = 1) {
    for (const char c : text) {
      if (!Send({&c, 1})) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    }
    return true;
  }
  /// Until all that was sent lies in the client's socket: what send() has taken may still be on its way there.
  void AwaitArrival() const {
    for (int queued = 1; ::ioctl(fd(), SIOCOUTQ, &queued) == 0 && queued > 0;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  /// Says that nothing more comes, before the connection is closed; without it a connection by TLS is cut.
  virtual void HangUp() {}
  void Reset() {
    const linger reset = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    socket_.Reset();
  }
  /// Until the client hangs up.
  void AwaitEnd() {
    while (!Receive().empty()) {
    }
  }
  int fd() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

class ScriptedPeer {
 public:
  /// Runs on a thread of each connection, numbered from 0; the connection is closed behind it.
  using Script = std::function<void(PeerSocket& socket, int number)>;
  using Accept = std::function<std::unique_ptr<PeerSocket>(FileDescriptor socket)>;

  static Accept Plain() {
    return [](FileDescriptor socket) { return std::make_unique<PeerSocket>(std::move(socket)); };
  }
  explicit ScriptedPeer(Script script, Accept accept = Plain())
      : script_(std::move(script)), accept_(std::move(accept)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Run(); });
  }
  /// The clients must have gone.
  ~ScriptedPeer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  int port() const { return port_; }
  std::string url(std::string_view scheme = "http") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_);
  }
  int connections() const { return connections_; }

 private:
  /// OpenSSL's way to a client that has gone would end the program.
  static void BlockBrokenPipes() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  void Run() {
    while (true) {
      const int fd = ::accept(listener_.get(), nullptr, nullptr);
      if (fd < 0) {
        return;
      }
      threads_.emplace_back([this, fd, number = connections_++] {
        BlockBrokenPipes();
        const std::unique_ptr<PeerSocket> peer = accept_(FileDescriptor(fd));
        if (peer) {
          script_(*peer, number);
        }
      });
    }
  }

  const Script script_;
  const Accept accept_;
  FileDescriptor listener_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::thread acceptor_;
  std::vector<std::thread> threads_;
};

}  // namespace assay::http
