// A connection of ours: dialled, then one transfer after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "http/answer.h"
#include "http/channel.h"
#include "http/wire/answer_reader.h"
#include "http/wire/dialer.h"
#include "http/wire/request_sender.h"

namespace assay::http {

class WireEngine;

/// A job with what it has been through.
struct WireJob {
  Job job;
  Url url;
  double started = 0;  ///< on MonotonicSeconds()
};

/// Belongs to its engine's thread. The engine is told when a transfer has ended, and lets go of the connection then or
/// keeps it for another.
class WireConnection {
 public:
  WireConnection(WireEngine& engine, Origin origin);
  ~WireConnection();
  WireConnection(const WireConnection&) = delete;
  WireConnection& operator=(const WireConnection&) = delete;

  /// It has no transfer.
  void Begin(WireJob job);
  /// Does what can be done: `events` have happened to the socket, or a name is known, or a turn was too long.
  void Proceed(uint32_t events);
  /// Ends a transfer that has waited too long.
  void Check(double now);
  /// When a transfer will have, if nothing happens.
  double DueAt() const;
  /// Ends the transfer, and the connection with it.
  void Cancel();
  /// Lets a transfer that waited for bandwidth go on.
  void Resume();

  const Origin& origin() const { return origin_; }
  bool has_transfer() const { return job_.has_value(); }
  bool usable() const { return channel_ != nullptr; }
  /// Waits for the addresses of a name.
  bool is_resolving() const { return dialer_ && dialer_->state() == Dialer::State::kResolving; }
  double moved_at() const { return moved_at_; }
  /// Since when it has waited for bandwidth; 0: it does not.
  double paused_since() const { return paused_since_; }

 private:
  void Dial(double now);
  /// One turn: sends and receives until nothing can, or others should have theirs.
  void Exchange(double now, bool broken = false);
  bool MustPause(double now);
  /// Nothing has come that was not asked for, nor the end.
  bool IsQuiet();
  bool has_answer() const { return reader_.state() == AnswerReader::State::kDone; }
  bool is_sending() const { return sender_.state() == RequestSender::State::kSending && send_error_.empty(); }
  /// Each returns how many bytes it has moved.
  size_t SendSome(double now);
  size_t ReceiveSome(double now);
  void TakeReceived(std::span<const std::byte> bytes, bool direct, double now);
  void TakeEnd(const Channel::Step& step);
  void LookAtIdle();
  /// The answer is whole, or refused. One of success counts once the request has been sent.
  void Conclude();
  void Fail(TransportError error, std::string detail);
  void End(Outcome outcome, bool keep);
  /// Before a transfer ends so: that nothing has come from the address, where that says something of it.
  void TellOfSilence(TransportError error, double now);
  void Close();
  void Watch(int socket, uint32_t events);
  void WatchChannel();
  void SetLowWater();
  /// The reason to end the transfer now; nothing: there is none.
  std::optional<Outcome> Overdue(double now);
  /// Bytes that were sent have come to the peer's machine since that was asked.
  bool SentMore(double now);

  WireEngine& engine_;
  const Origin origin_;
  std::unique_ptr<Dialer> dialer_;
  std::unique_ptr<Channel> channel_;
  std::optional<Address> address_;
  int watched_ = -1;
  uint32_t events_ = 0;
  int low_water_ = 1;

  std::optional<WireJob> job_;
  std::unique_ptr<SpanSource> spans_;
  Answer answer_;
  AnswerReader reader_;
  RequestSender sender_;
  /// What each direction waits for; kMoved: for nothing.
  Channel::Outcome receive_waits_ = Channel::Outcome::kWantRead;
  Channel::Outcome send_waits_ = Channel::Outcome::kMoved;
  std::string send_error_;  ///< sending has failed: what is left is the answer, if there is one
  bool kept_ = false;       ///< has carried a transfer before this one
  bool overran_ = false;    ///< more came than the answer
  double moved_at_ = 0;
  int queued_ = 0;            ///< bytes that the system still had to send then
  double first_byte_at_ = 0;  ///< 0: nothing of an answer has come
  double paused_since_ = 0;
};

}  // namespace assay::http
