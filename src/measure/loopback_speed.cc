#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "measure/ceilings.h"
#include "measure/statistics.h"

namespace assay::measure {
namespace {

constexpr char kLoopback[] = "the loopback interface";
constexpr size_t kMessageBytes = 1 << 20;

struct Connection {
  FileDescriptor client;
  FileDescriptor server;
};

void Configure(const FileDescriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval patience = {5, 0};  // so that a fault ends the test instead of holding it up
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Result<Connection> Connect() {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Connection connection;
  connection.client.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  const bool connected = listener.valid() && connection.client.valid() &&
                         ::bind(listener.get(), generic, length) == 0 && ::listen(listener.get(), 1) == 0 &&
                         ::getsockname(listener.get(), generic, &length) == 0 &&
                         ::connect(connection.client.get(), generic, length) == 0;
  if (!connected) {
    return ErrnoStatus(errno, "connect through", kLoopback);
  }
  connection.server.Reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.server.valid()) {
    return ErrnoStatus(errno, "accept a connection on", kLoopback);
  }
  Configure(connection.client);
  Configure(connection.server);
  return connection;
}

int64_t ReceiveAll(const FileDescriptor& socket) {
  std::vector<char> buffer(kMessageBytes);
  int64_t bytes = 0;
  while (true) {
    const ssize_t n = RetryOnSignal([&] { return ::recv(socket.get(), buffer.data(), buffer.size(), 0); });
    if (n <= 0) {
      return bytes;
    }
    bytes += n;
  }
}

// Sends from one thread to another; the time ends when all has arrived.
Status MeasureThroughput(double seconds, LoopbackSpeed& speed) {
  ASSAY_ASSIGN_OR_RETURN(const Connection connection, Connect());
  const double begin = MonotonicSeconds();
  double end = begin;
  std::thread receiver([&] {
    speed.bytes = ReceiveAll(connection.server);
    end = MonotonicSeconds();
  });
  const std::vector<char> message(kMessageBytes, 'x');
  int error = 0;
  while (error == 0 && MonotonicSeconds() - begin < seconds) {
    const ssize_t n =
        RetryOnSignal([&] { return ::send(connection.client.get(), message.data(), message.size(), MSG_NOSIGNAL); });
    error = n < 0 ? errno : 0;
  }
  ::shutdown(connection.client.get(), SHUT_WR);
  receiver.join();
  if (error != 0) {
    return ErrnoStatus(error, "send through", kLoopback);
  }
  speed.throughput_gb_per_s = static_cast<double>(speed.bytes) / (end - begin) / 1e9;
  return Status::Ok();
}

bool SendByte(const FileDescriptor& socket) {
  const char byte = 'x';
  return RetryOnSignal([&] { return ::send(socket.get(), &byte, 1, MSG_NOSIGNAL); }) == 1;
}

bool ReceiveByte(const FileDescriptor& socket) {
  char byte = 0;
  return RetryOnSignal([&] { return ::recv(socket.get(), &byte, 1, 0); }) == 1;
}

Status MeasureRoundTrip(double seconds, LoopbackSpeed& speed) {
  ASSAY_ASSIGN_OR_RETURN(const Connection connection, Connect());
  std::thread echo([&] {
    while (ReceiveByte(connection.server) && SendByte(connection.server)) {
    }
  });
  std::vector<double> microseconds;
  const double begin = MonotonicSeconds();
  double last = begin;
  bool healthy = true;
  while (healthy && last - begin < seconds) {
    healthy = SendByte(connection.client) && ReceiveByte(connection.client);
    const double now = MonotonicSeconds();
    microseconds.push_back(1e6 * (now - last));
    last = now;
  }
  const int error = errno;
  ::shutdown(connection.client.get(), SHUT_RDWR);
  echo.join();
  if (!healthy) {
    return ErrnoStatus(error, "exchange bytes through", kLoopback);
  }
  speed.round_trips = static_cast<int64_t>(microseconds.size());
  speed.round_trip_us = Median(microseconds);
  return Status::Ok();
}

}  // namespace

Result<LoopbackSpeed> MeasureLoopback(double budget_seconds) {
  LoopbackSpeed speed;
  ASSAY_RETURN_IF_ERROR(MeasureThroughput(0.6 * budget_seconds, speed));
  ASSAY_RETURN_IF_ERROR(MeasureRoundTrip(0.3 * budget_seconds, speed));
  speed.method =
      fmt::format("one TCP connection to 127.0.0.1, {} in messages of 1 MiB; median of {} one-byte round trips",
                  FormatBytes(static_cast<double>(speed.bytes)), speed.round_trips);
  return speed;
}

}  // namespace assay::measure
