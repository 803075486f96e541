#include "http/wire/wire_connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "http/wire/wire_engine.h"

namespace assay::http {
namespace {

/// Then the other connections have their turn.
constexpr size_t kOneTurnBytes = 2 << 20;
/// Under a cap all transfers take turns, so turns are small.
constexpr size_t kCappedPieceBytes = 32 << 10;
/// What follows a head, the beginning of a body, is copied.
constexpr size_t kHeadBytes = 16 << 10;
/// Shorter pieces are received together and copied.
constexpr size_t kMinDirectBytes = 16 << 10;
/// Of a large body so much is awaited: a wake-up for every packet would cost both sides more than the bytes do.
constexpr int kAwaitedBytes = 256 << 10;

double TimeoutOf(const Transfer& transfer, const ClientOptions& options) {
  return transfer.total_timeout_seconds > 0 ? transfer.total_timeout_seconds : options.total_timeout_seconds;
}

/// Bytes that were sent and that the peer's machine has not got yet.
int QueuedBytes(int socket) {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

Outcome Failed(TransportError error, std::string detail) {
  Outcome outcome;
  outcome.error = error;
  outcome.detail = std::move(detail);
  return outcome;
}

}  // namespace

WireConnection::WireConnection(WireEngine& engine, Origin origin)
    : engine_(engine), origin_(std::move(origin)), answer_(engine.shared()), reader_(answer_) {}

WireConnection::~WireConnection() {
  Close();
}

void WireConnection::Begin(WireJob job) {
  const double now = MonotonicSeconds();
  job_ = std::move(job);
  Transfer& transfer = job_->job.transfer;
  BodySource* source = transfer.source;
  if (source == nullptr && !transfer.request.body.empty()) {
    spans_ = std::make_unique<SpanSource>(transfer.request.body);
    source = spans_.get();
  }
  answer_.Begin(transfer.sink);
  reader_.Begin(transfer.request.method == "HEAD");
  sender_.Begin(transfer.request, job_->url, engine_.shared().options.user_agent, source);
  receive_waits_ = Channel::Outcome::kWantRead;
  send_waits_ = Channel::Outcome::kMoved;
  send_error_.clear();
  overran_ = false;
  kept_ = usable();
  moved_at_ = now;
  queued_ = 0;
  first_byte_at_ = 0;
  paused_since_ = 0;
  if (!kept_) {
    dialer_ = std::make_unique<Dialer>(engine_.dialing(), origin_, now);
  }
  Proceed(0);
}

void WireConnection::Proceed(uint32_t events) {
  const double now = MonotonicSeconds();
  if (dialer_) {
    Dial(now);
  }
  if (channel_ == nullptr) {
    return;
  }
  const uint32_t broken = events & (EPOLLERR | EPOLLHUP);
  for (Channel::Outcome* waits : {&receive_waits_, &send_waits_}) {
    if ((*waits == Channel::Outcome::kWantRead && (events & EPOLLIN) != 0) ||
        (*waits == Channel::Outcome::kWantWrite && (events & EPOLLOUT) != 0) || broken != 0) {
      *waits = Channel::Outcome::kMoved;
    }
  }
  if (job_) {
    Exchange(now, broken != 0);
  } else {
    LookAtIdle();
  }
}

void WireConnection::Dial(double now) {
  dialer_->Proceed(now);
  if (dialer_->state() == Dialer::State::kFailed) {
    return Fail(dialer_->error(), dialer_->detail());
  }
  if (dialer_->state() != Dialer::State::kDone) {
    engine_.CheckBy(dialer_->wake_at());
    return Watch(dialer_->socket(), dialer_->wanted_events());
  }
  std::tie(channel_, address_) = dialer_->TakeChannel();
  dialer_.reset();
  moved_at_ = now;
  engine_.CheckBy(DueAt());
}

bool WireConnection::MustPause(double now) {
  const bool must = engine_.shared().bucket.WaitSeconds(now) > 0;
  paused_since_ = must ? now : 0;
  return must;
}

void WireConnection::Resume() {
  paused_since_ = 0;
  moved_at_ = MonotonicSeconds();
  Proceed(EPOLLIN | EPOLLOUT);
}

void WireConnection::Exchange(double now, bool broken) {
  size_t moved = 0;
  bool again = true;
  // A broken connection tells of itself until it is read to its end.
  while (job_ && again && moved < kOneTurnBytes && (broken || !MustPause(now))) {
    const size_t sent = SendSome(now);
    const size_t received = job_ ? ReceiveSome(now) : 0;
    again = sent + received > 0;
    moved += sent + received;
  }
  if (!job_) {
    return;
  }
  if (moved >= kOneTurnBytes && paused_since_ == 0) {
    engine_.Again(*this);
  }
  SetLowWater();
  WatchChannel();
}

bool WireConnection::IsQuiet() {
  const Channel::Step step = channel_->Receive(engine_.scratch().first(kHeadBytes));
  const bool waits = step.outcome == Channel::Outcome::kWantRead || step.outcome == Channel::Outcome::kWantWrite;
  receive_waits_ = waits ? step.outcome : receive_waits_;
  return waits;
}

size_t WireConnection::SendSome(double now) {
  if (sender_.state() != RequestSender::State::kSending || send_waits_ != Channel::Outcome::kMoved ||
      !send_error_.empty()) {
    return 0;
  }
  if (kept_ && !sender_.has_begun() && !IsQuiet()) {
    Fail(TransportError::kReset, "what came before the request is no answer to it");
    return 0;
  }
  TokenBucket& bucket = engine_.shared().bucket;
  const Channel::Step step = sender_.Send(*channel_, bucket.unlimited() ? kOneTurnBytes : kCappedPieceBytes);
  if (step.bytes > 0) {
    moved_at_ = now;
    queued_ = QueuedBytes(channel_->socket());
    bucket.Take(static_cast<int64_t>(step.bytes));
  }
  if (sender_.state() == RequestSender::State::kRefused) {
    Fail(TransportError::kRejected, "the body of the request was refused");
    return 0;
  }
  if (step.outcome != Channel::Outcome::kMoved && step.outcome != Channel::Outcome::kWantRead &&
      step.outcome != Channel::Outcome::kWantWrite) {
    // The peer may have answered before it hung up.
    send_error_ = channel_->error().empty() ? "the peer has closed the connection" : channel_->error();
    receive_waits_ = Channel::Outcome::kMoved;
  } else {
    send_waits_ = step.outcome;
  }
  if (has_answer() && !is_sending()) {
    Conclude();
  }
  return step.bytes;
}

size_t WireConnection::ReceiveSome(double now) {
  if (receive_waits_ != Channel::Outcome::kMoved || has_answer()) {
    return 0;
  }
  const bool capped = !engine_.shared().bucket.unlimited();
  std::span<std::byte> memory = reader_.Memory(capped ? kCappedPieceBytes : kReceiveBytes);
  const bool direct = memory.size() >= kMinDirectBytes;
  if (!direct) {
    const size_t most = reader_.state() == AnswerReader::State::kHead ? kHeadBytes
                        : capped                                      ? kCappedPieceBytes
                                                                      : kReceiveBytes;
    memory = engine_.scratch().first(most);
  }
  const Channel::Step step = channel_->Receive(memory);
  if (step.outcome == Channel::Outcome::kWantRead || step.outcome == Channel::Outcome::kWantWrite) {
    receive_waits_ = step.outcome;
    return 0;
  }
  if (step.outcome != Channel::Outcome::kMoved) {
    TakeEnd(step);
    return 0;
  }
  moved_at_ = now;
  engine_.shared().bucket.Take(static_cast<int64_t>(step.bytes));
  TakeReceived(memory.first(step.bytes), direct, now);
  return step.bytes;
}

void WireConnection::TakeReceived(std::span<const std::byte> bytes, bool direct, double now) {
  if (first_byte_at_ == 0 && !kept_) {
    engine_.dialing().addresses.Proved(origin_.host, origin_.port, *address_);
  }
  first_byte_at_ = first_byte_at_ > 0 ? first_byte_at_ : now;
  if (direct) {
    reader_.Filled(bytes.size(), now);
  } else {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    overran_ = reader_.Feed(text, now) < bytes.size();
  }
  if (reader_.state() == AnswerReader::State::kDone || reader_.state() == AnswerReader::State::kFailed) {
    Conclude();
  }
}

void WireConnection::TakeEnd(const Channel::Step& step) {
  const bool orderly = step.outcome == Channel::Outcome::kClosed;
  if (orderly && reader_.OnEnd()) {
    return Conclude();
  }
  const std::string why = !send_error_.empty() ? send_error_ : channel_->error();
  if (!orderly) {
    return Fail(TransportError::kReset, why);
  }
  if (reader_.state() == AnswerReader::State::kBody) {
    const int64_t left = reader_.remaining_bytes();
    return Fail(TransportError::kTruncated, left > 0 ? fmt::format("the connection ended {} bytes too soon", left)
                                                     : "the connection ended before the body did");
  }
  Fail(TransportError::kReset, why.empty() ? "the connection ended before an answer" : why);
}

/// Whatever comes without having been asked for: the end of the connection, or a reason for it.
void WireConnection::LookAtIdle() {
  if (receive_waits_ != Channel::Outcome::kMoved) {
    return;
  }
  if (IsQuiet()) {
    return WatchChannel();  // TLS spoke to itself
  }
  Close();
  engine_.Gone(*this);
}

void WireConnection::Conclude() {
  Outcome outcome;
  const bool whole = has_answer();
  const bool sent = sender_.state() == RequestSender::State::kDone && send_error_.empty();
  if (whole && !sent && answer_.status() / 100 == 2) {
    if (!is_sending()) {
      Fail(TransportError::kReset,
           "the answer was " + std::to_string(answer_.status()) + " before the request was sent: " + send_error_);
    }
    return;  // the peer may still want all of it
  }
  if (!whole && !answer_.read_enough()) {
    answer_.Conclude(outcome);
  }
  const bool over = overran_ || channel_->holds_received();
  End(std::move(outcome), whole && sent && !over && reader_.keeps_connection());
}

void WireConnection::Fail(TransportError error, std::string detail) {
  if (error == TransportError::kReset && kept_ && first_byte_at_ == 0) {
    // It may have been dead before the request.
    BodySource* source = job_->job.transfer.source;
    if (source != nullptr && sender_.has_begun()) {
      source->Rewind();
    }
    WireJob job = *std::exchange(job_, std::nullopt);
    Close();
    return engine_.Restart(*this, std::move(job));
  }
  End(Failed(error, std::move(detail)), false);
}

void WireConnection::TellOfSilence(TransportError error, double now) {
  AddressBook& addresses = engine_.dialing().addresses;
  const bool is_given_up = error == TransportError::kTimeout || error == TransportError::kCancelled;
  if (dialer_ && is_given_up) {
    return dialer_->GiveUp();
  }
  if (!channel_ || first_byte_at_ != 0) {
    return;
  }
  if (error == TransportError::kStall || error == TransportError::kReset) {
    addresses.PassOver(origin_.host, origin_.port, *address_);
  }
  // Over a connection that has carried answers one request may be slow.
  const bool is_long = now - moved_at_ >= AddressBook::kSilentSeconds;
  if (is_given_up && paused_since_ == 0 && (is_long || !kept_) && !SentMore(now)) {
    addresses.Unanswered(origin_.host, origin_.port, *address_, moved_at_);
  }
}

void WireConnection::End(Outcome outcome, bool keep) {
  const double now = MonotonicSeconds();
  TellOfSilence(outcome.error, now);
  WireJob job = *std::exchange(job_, std::nullopt);
  outcome.response = std::move(answer_.response());
  outcome.response.first_byte_seconds = first_byte_at_ > 0 ? first_byte_at_ - job.started : 0;
  outcome.response.total_seconds = now - job.started;
  outcome.response.new_connection = !kept_;
  spans_.reset();
  paused_since_ = 0;
  moved_at_ = now;
  if (keep) {
    SetLowWater();
    WatchChannel();
  } else {
    Close();
  }
  engine_.Finished(*this, std::move(job), std::move(outcome));
}

void WireConnection::Cancel() {
  Outcome outcome = CancelledOutcome();
  End(std::move(outcome), false);
}

void WireConnection::Close() {
  dialer_.reset();
  if (channel_) {
    engine_.dialing().addresses.Release(origin_.host, origin_.port, *address_);
    channel_.reset();
  }
  watched_ = -1;
}

void WireConnection::Watch(int socket, uint32_t events) {
  if (socket >= 0 && (socket != watched_ || events != events_ || dialer_)) {
    engine_.Watch(socket, events, *this);
  }
  watched_ = socket;
  events_ = events;
}

void WireConnection::WatchChannel() {
  const bool writes = send_waits_ == Channel::Outcome::kWantWrite || receive_waits_ == Channel::Outcome::kWantWrite;
  // What comes behind an answer is left where it is.
  const bool reads = !job_ || !has_answer() || send_waits_ == Channel::Outcome::kWantRead;
  const uint32_t wanted =
      (reads ? static_cast<uint32_t>(EPOLLIN) : 0U) | (writes ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  Watch(channel_->socket(), paused_since_ > 0 ? 0U : wanted);
}

void WireConnection::SetLowWater() {
  const bool large = reader_.remaining_bytes() >= 2 * kAwaitedBytes && engine_.shared().bucket.unlimited();
  const int wanted = large && job_ ? kAwaitedBytes : 1;
  if (wanted != low_water_ && ::setsockopt(channel_->socket(), SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof(wanted)) == 0) {
    low_water_ = wanted;
  }
}

/// The system takes megabytes at once, which may be on their way for long.
bool WireConnection::SentMore(double now) {
  const int queued = QueuedBytes(channel_->socket());
  if (queued >= queued_) {
    return false;
  }
  queued_ = queued;
  moved_at_ = now;
  return true;
}

std::optional<Outcome> WireConnection::Overdue(double now) {
  const double total = TimeoutOf(job_->job.transfer, engine_.shared().options);
  if (total > 0 && now >= job_->started + total) {
    return Failed(TransportError::kTimeout, fmt::format("it was not done within {} seconds", total));
  }
  const double stall = engine_.shared().options.stall_timeout_seconds;
  if (dialer_ || stall <= 0 || paused_since_ > 0) {
    return std::nullopt;
  }
  if (now >= moved_at_ + stall && !SentMore(now)) {
    return Failed(TransportError::kStall, fmt::format("no byte moved for {} seconds", stall));
  }
  return std::nullopt;
}

void WireConnection::Check(double now) {
  if (dialer_ && now >= dialer_->wake_at()) {
    Proceed(0);
  }
  std::optional<Outcome> overdue = job_ ? Overdue(now) : std::nullopt;
  if (overdue && overdue->error == TransportError::kStall && low_water_ > 1) {
    receive_waits_ = Channel::Outcome::kMoved;  // what has come may be too little for the socket to tell
    Exchange(now);
    overdue = job_ ? Overdue(now) : std::nullopt;
  }
  if (overdue) {
    End(*std::move(overdue), false);
  }
}

double WireConnection::DueAt() const {
  const ClientOptions& options = engine_.shared().options;
  const double total = TimeoutOf(job_->job.transfer, options);
  double next = total > 0 ? job_->started + total : std::numeric_limits<double>::infinity();
  if (dialer_) {
    next = std::min(next, dialer_->wake_at());
  } else if (options.stall_timeout_seconds > 0) {
    next = std::min(next, moved_at_ + options.stall_timeout_seconds);
  }
  return next;
}

}  // namespace assay::http
