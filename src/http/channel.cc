#include "http/channel.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay::http {
namespace {

constexpr size_t kMaxPieces = 64;

}  // namespace

Channel::Step PlainChannel::StepOf(ssize_t count, Outcome would_block) {
  if (count >= 0) {
    return {Outcome::kMoved, static_cast<size_t>(count)};
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    return {would_block, 0};
  }
  return Fail(Outcome::kBroken, std::strerror(errno));
}

Channel::Step PlainChannel::Receive(std::span<std::byte> into) {
  const ssize_t count = RetryOnSignal([&] { return ::recv(socket(), into.data(), into.size(), MSG_DONTWAIT); });
  return count == 0 ? Step{Outcome::kClosed, 0} : StepOf(count, Outcome::kWantRead);
}

Channel::Step PlainChannel::Send(Pieces pieces, bool more) {
  iovec vectors[kMaxPieces];
  const size_t count = std::min(pieces.size(), kMaxPieces);
  for (size_t i = 0; i < count; ++i) {
    vectors[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message = {};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more || count < pieces.size() ? MSG_MORE : 0);
  const ssize_t sent = RetryOnSignal([&] { return ::sendmsg(socket(), &message, flags); });
  if (sent < 0 && errno == EFAULT) {
    return Fail(Outcome::kUnreadable, std::strerror(errno));
  }
  return StepOf(sent, Outcome::kWantWrite);
}

Channel::Step PlainChannel::SendFile(int file, int64_t offset, size_t count) {
  off_t from = offset;
  return StepOf(RetryOnSignal([&] { return ::sendfile(socket(), file, &from, count); }), Outcome::kWantWrite);
}

void PlainChannel::HangUp() {
  ::shutdown(socket(), SHUT_WR);
}

}  // namespace assay::http
