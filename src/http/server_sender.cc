#include "http/server_sender.h"

#include <algorithm>
#include <limits>
#include <utility>

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

ResponseSender::Outcome ResponseSender::Send(Channel& channel, double now) {
  int64_t budget = kMaxSendBytes;
  while (!pieces_.empty()) {
    const int64_t allowed = std::min(Allowance(now), budget);
    if (allowed == 0) {
      wake_at_ = budget == 0 ? now : wake_at_;
      return Outcome::kPaced;
    }
    const Channel::Step step = SendSome(channel, allowed);
    if (step.outcome == Channel::Outcome::kWantWrite || step.outcome == Channel::Outcome::kWantRead) {
      return Outcome::kBlocked;
    }
    if (step.outcome != Channel::Outcome::kMoved || step.bytes == 0) {
      return Outcome::kBroken;  // without a byte: a file that became shorter
    }
    const auto sent = static_cast<int64_t>(step.bytes);
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

Channel::Step ResponseSender::SendSome(Channel& channel, int64_t most) {
  BodyPiece& first = pieces_.front();
  if (!first.file) {
    return SendMemory(channel, most);
  }
  return channel.SendFile(first.file->get(), first.offset, static_cast<size_t>(std::min(most, first.length)));
}

Channel::Step ResponseSender::SendMemory(Channel& channel, int64_t most) {
  std::span<const std::byte> some[kMaxVectors];
  size_t count = 0;
  int64_t bytes = 0;
  for (const BodyPiece& piece : pieces_) {
    if (piece.file || count == kMaxVectors || bytes == most) {
      break;
    }
    const int64_t length = std::min(piece.size(), most - bytes);
    some[count++] = piece.bytes.first(static_cast<size_t>(length));
    bytes += length;
  }
  const bool file_follows = count < pieces_.size() && pieces_[count].file;
  return channel.Send(std::span(some).first(count), file_follows);
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
