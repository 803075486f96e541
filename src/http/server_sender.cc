#include "http/server_sender.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/file_descriptor.h"

namespace assay::http {
namespace {

constexpr size_t kMaxVectors = 64;
// One response does not hold its loop longer than this takes.
constexpr int64_t kMaxSendBytes = 4 << 20;

}  // namespace

int64_t PaceQuantum(const Pacer& pacer) {
  constexpr double kSeconds = 0.004;
  return std::clamp(static_cast<int64_t>(pacer.bytes_per_s() * kSeconds), int64_t{1} << 10, int64_t{1} << 20);
}

void ResponseSender::Begin(std::string head, std::vector<BodyPiece> body) {
  head_bytes_ = static_cast<int64_t>(head.size());
  response_sent_ = 0;
  body.insert(body.begin(), BodyPiece::Text(std::move(head)));
  for (BodyPiece& piece : body) {
    if (piece.size() > 0) {
      pieces_.push_back(std::move(piece));
    }
  }
}

int64_t ResponseSender::body_sent() const {
  return std::max<int64_t>(0, response_sent_ - head_bytes_);
}

ResponseSender::Outcome ResponseSender::Send(int socket, double now) {
  int64_t budget = kMaxSendBytes;
  while (!pieces_.empty()) {
    const int64_t allowed = std::min(Allowance(now), budget);
    if (allowed == 0) {
      wake_at_ = budget == 0 ? now : wake_at_;
      return Outcome::kPaced;
    }
    const int64_t sent = SendSome(socket, allowed);
    if (sent < 0) {
      return errno == EAGAIN || errno == EWOULDBLOCK ? Outcome::kBlocked : Outcome::kBroken;
    }
    if (sent == 0) {
      return Outcome::kBroken;  // a file that became shorter
    }
    Advance(sent);
    budget -= sent;
  }
  return Outcome::kDone;
}

int64_t ResponseSender::Allowance(double now) {
  if (connection_ == nullptr && total_ == nullptr) {
    return std::numeric_limits<int64_t>::max();
  }
  if (granted_bytes_ == 0) {
    granted_bytes_ = PaceQuantum(connection_ != nullptr ? *connection_ : *total_);
    wake_at_ = std::max(connection_ != nullptr ? connection_->Book(granted_bytes_, now) : 0,
                        total_ != nullptr ? total_->Book(granted_bytes_, now) : 0);
  }
  return wake_at_ > now ? 0 : granted_bytes_;
}

int64_t ResponseSender::SendSome(int socket, int64_t most) {
  BodyPiece& first = pieces_.front();
  if (!first.file) {
    return SendMemory(socket, most);
  }
  off_t offset = first.offset;
  const auto count = static_cast<size_t>(std::min(most, first.length));
  return RetryOnSignal([&] { return ::sendfile(socket, first.file->get(), &offset, count); });
}

int64_t ResponseSender::SendMemory(int socket, int64_t most) {
  iovec vectors[kMaxVectors];
  size_t count = 0;
  int64_t bytes = 0;
  for (const BodyPiece& piece : pieces_) {
    if (piece.file || count == kMaxVectors || bytes == most) {
      break;
    }
    const int64_t length = std::min(piece.size(), most - bytes);
    vectors[count++] = {const_cast<std::byte*>(piece.bytes.data()), static_cast<size_t>(length)};
    bytes += length;
  }
  msghdr message = {};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  const bool file_follows = count < pieces_.size() && pieces_[count].file;
  return RetryOnSignal([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL | (file_follows ? MSG_MORE : 0)); });
}

void ResponseSender::Advance(int64_t count) {
  response_sent_ += count;
  total_sent_ += count;
  granted_bytes_ = std::max<int64_t>(0, granted_bytes_ - count);
  while (count > 0) {
    const int64_t taken = std::min(count, pieces_.front().size());
    count -= taken;
    pieces_.front().RemovePrefix(taken);
    if (pieces_.front().size() == 0) {
      pieces_.pop_front();
    }
  }
}

}  // namespace assay::http
