// The sending side of one response: what is left to send, from where it lies, as fast as the modelled network lets it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/channel.h"
#include "http/server_pacer.h"
#include "http/server_response.h"

namespace assay::http {

/// Belongs to one connection.
class ResponseSender {
 public:
  enum class Outcome { kDone, kBlocked, kPaced, kBroken };

  /// Either pacer may be null. Both outlive the sender.
  ResponseSender(Pacer* connection, Pacer* total) : connection_(connection), total_(total) {}

  void Begin(std::string head, std::vector<BodyPiece> body);
  /// More of the body.
  void Append(BodyPiece piece) { pieces_.push_back(std::move(piece)); }
  /// Sends until the end, until the socket is full, until the pace says wait (see wake_at()), or until it breaks.
  Outcome Send(Channel& channel, double now);
  double wake_at() const { return wake_at_; }  ///< after kPaced
  int64_t total_sent() const { return total_sent_; }
  int64_t body_sent() const;
  void Clear() { pieces_.clear(); }

 private:
  /// Bytes that may be sent now; 0: wait.
  int64_t Allowance(double now);
  Channel::Step SendSome(Channel& channel, int64_t most);
  Channel::Step SendMemory(Channel& channel, int64_t most);
  void Advance(int64_t count);

  Pacer* connection_;
  Pacer* total_;
  std::deque<BodyPiece> pieces_;
  int64_t head_bytes_ = 0;
  int64_t response_sent_ = 0;
  int64_t total_sent_ = 0;
  int64_t granted_bytes_ = 0;
  double wake_at_ = 0;
};

/// What is booked at once at a bandwidth: a few milliseconds' worth.
int64_t PaceQuantum(const Pacer& pacer);

}  // namespace assay::http
