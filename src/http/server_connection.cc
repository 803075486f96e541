#include "http/server_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "http/server_loop.h"

namespace assay::http {
namespace {

// A head is read in pieces this large: what follows it, the beginning of a body, is copied once.
constexpr size_t kHeadReadBytes = 16 << 10;
constexpr int64_t kMaxReceiveBytes = 4 << 20;
// Of a large body so much is awaited: a wake-up for every packet would cost sender and receiver more than the bytes do.
constexpr int64_t kLowWaterBytes = 256 << 10;
constexpr double kLingerSeconds = 2;
constexpr double kStallSeconds = 600;

std::unique_ptr<Pacer> MakePacer(double bytes_per_s) {
  return bytes_per_s > 0 ? std::make_unique<Pacer>(bytes_per_s) : nullptr;
}

}  // namespace

ServerConnection::ServerConnection(uint64_t id, FileDescriptor socket, ServerLoop& loop)
    : id_(id),
      channel_(loop.shared().tls ? loop.shared().tls->Wrap(std::move(socket))
                                 : std::make_unique<PlainChannel>(std::move(socket))),
      loop_(loop),
      state_(loop.shared().tls ? State::kGreeting : State::kHead),
      active_at_(loop.now()),
      parser_(loop.shared().options.limits),
      upload_pacer_(MakePacer(loop.shared().options.network.connection_bytes_per_s)),
      download_pacer_(MakePacer(loop.shared().options.network.connection_bytes_per_s)),
      sender_(download_pacer_.get(), loop.shared().download_pacer.get()) {}

ServerConnection::~ServerConnection() {
  Close();
  loop_.shared().stats.connections_open.fetch_sub(1, std::memory_order_relaxed);
}

void ServerConnection::OnEvents(uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0 && (events & EPOLLIN) == 0) {
    return Close();
  }
  if ((events & EPOLLOUT) != 0 && state_ == State::kSending) {
    blocked_ = false;
    Send();
  }
  if ((events & EPOLLIN) != 0) {
    Receive();
  }
  UpdateInterest();
}

void ServerConnection::OnTimer() {
  if (state_ == State::kDelay && loop_.now() >= wake_at_) {
    StartSending();
  } else if (state_ == State::kSending && !blocked_ && loop_.now() >= wake_at_) {
    Send();
  } else if ((state_ == State::kStalled || state_ == State::kLingering) && loop_.now() >= wake_at_) {
    Close();
  } else if ((state_ == State::kHead || state_ == State::kBody) && channel_->holds_received()) {
    Receive();
  }
  UpdateInterest();
}

void ServerConnection::OnWoken() {
  if (state_ == State::kDeferred) {
    WaitForResponse();
  } else if (state_ == State::kStreaming) {
    SendFromStream();
  } else if (state_ == State::kSending && response_->stream && response_->stream->overflowed()) {
    Close();
  }
  UpdateInterest();
}

bool ServerConnection::WaitingSince(double time) const {
  const bool ours = state_ == State::kDeferred || state_ == State::kDelay || state_ == State::kStreaming ||
                    state_ == State::kStalled || (state_ == State::kSending && !blocked_);
  return !ours && read_again_at_ < time && active_at_ < time;
}

bool ServerConnection::TakeTrickle() {
  if (low_water_ == 1) {
    return false;
  }
  Receive();
  UpdateInterest();
  return state_ != State::kClosed && active_at_ == loop_.now();
}

void ServerConnection::Close() {
  if (state_ == State::kClosed) {
    return;
  }
  if (response_ && response_->on_sent) {
    response_->on_sent(sender_.body_sent(), false);
  }
  if (response_ && response_->stream) {
    response_->stream->Abandon();
  }
  if (response_ && response_->deferred) {
    response_->deferred->Set(std::function<void()>());
  }
  response_.reset();
  exchange_.reset();
  sender_.Clear();
  channel_.reset();
  state_ = State::kClosed;
}

void ServerConnection::UpdateInterest() {
  if (state_ == State::kClosed) {
    return;
  }
  uint32_t wanted = 0;
  if (state_ == State::kGreeting || state_ == State::kHead || state_ == State::kBody) {
    wanted = read_again_at_ > loop_.now() ? 0U : EPOLLIN;
  } else if (state_ == State::kLingering) {
    wanted = EPOLLIN;
  } else if (state_ == State::kSending && blocked_) {
    wanted = EPOLLOUT;
  } else if (state_ == State::kStreaming || state_ == State::kDeferred) {
    wanted = EPOLLRDHUP;  // nothing is read meanwhile, but who has gone waits for nothing
  }
  UpdateLowWater();
  if (wanted != interest_) {
    interest_ = wanted;
    loop_.SetInterest(*this, wanted);
  }
}

/// Never more than what is still to come, so that the end of a body is not waited for in vain.
void ServerConnection::UpdateLowWater() {
  // By TLS a part may have been taken from the socket that is not told yet.
  const int64_t held = loop_.shared().tls ? kLowWaterBytes : 0;
  const bool large = state_ == State::kBody && body_.announced_bytes() >= kLowWaterBytes + held;
  const int wanted = large ? kLowWaterBytes : 1;
  if (wanted != low_water_ && ::setsockopt(channel_->socket(), SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof(wanted)) == 0) {
    low_water_ = wanted;
  }
}

void ServerConnection::Greet() {
  const Channel::Step step = channel_->Greet();
  if (step.outcome == Channel::Outcome::kMoved) {
    active_at_ = loop_.now();
    state_ = State::kHead;
  } else if (step.outcome != Channel::Outcome::kWantRead && step.outcome != Channel::Outcome::kWantWrite) {
    Close();
  }
}

void ServerConnection::Receive() {
  if (state_ == State::kGreeting) {
    Greet();
  }
  int64_t budget = kMaxReceiveBytes;
  while (budget > 0 && (state_ == State::kHead || state_ == State::kBody) && read_again_at_ <= loop_.now()) {
    const int64_t count = ReceiveOnce();
    if (count == 0) {
      return;
    }
    budget -= count;
  }
  if (budget <= 0 && state_ != State::kClosed && channel_->holds_received()) {
    loop_.WakeAt(loop_.now(), id_);
  }
  if (state_ == State::kLingering) {
    DropReceived();
  }
}

int64_t ServerConnection::ReceiveOnce() {
  if (state_ == State::kBody) {
    if (const std::span<std::byte> memory = body_.DirectMemory(); !memory.empty()) {
      const Channel::Step step = channel_->Receive(memory);
      if (!OnReceived(step)) {
        return 0;
      }
      body_.Received(step.bytes);
      if (body_.state() == BodyReceiver::State::kDone) {
        FinishRequest();
      }
      return static_cast<int64_t>(step.bytes);
    }
  }
  const std::span<char> scratch = loop_.scratch();
  const size_t most = state_ == State::kHead ? kHeadReadBytes : scratch.size();
  const Channel::Step step = channel_->Receive(std::as_writable_bytes(scratch.first(most)));
  if (!OnReceived(step)) {
    return 0;
  }
  Process({scratch.data(), step.bytes});
  return static_cast<int64_t>(step.bytes);
}

/// False when nothing came: the socket is empty, or closed.
bool ServerConnection::OnReceived(const Channel::Step& step) {
  if (step.outcome == Channel::Outcome::kMoved) {
    const auto count = static_cast<int64_t>(step.bytes);
    active_at_ = loop_.now();
    loop_.shared().stats.bytes_received.fetch_add(count, std::memory_order_relaxed);
    PaceReading(count);
    return true;
  }
  if (step.outcome != Channel::Outcome::kWantRead && step.outcome != Channel::Outcome::kWantWrite) {
    Close();
  }
  return false;
}

void ServerConnection::PaceReading(int64_t bytes) {
  Pacer* total = loop_.shared().upload_pacer.get();
  if (upload_pacer_ == nullptr && total == nullptr) {
    return;
  }
  // What has come is booked afterwards: the next bytes wait until these would have passed.
  const double end = std::max(
      upload_pacer_ ? upload_pacer_->Book(bytes, loop_.now()) + bytes / upload_pacer_->bytes_per_s() : 0,
      total != nullptr ? total->Book(bytes, loop_.now()) + static_cast<double>(bytes) / total->bytes_per_s() : 0);
  constexpr double kTimerSeconds = 0.002;
  if (end > loop_.now() + kTimerSeconds) {
    read_again_at_ = end;
    loop_.WakeAt(end, id_);
  }
}

void ServerConnection::Process(std::string_view bytes) {
  while (!bytes.empty() && (state_ == State::kHead || state_ == State::kBody)) {
    bytes.remove_prefix(state_ == State::kHead ? ProcessHead(bytes) : ProcessBody(bytes));
  }
  if (!bytes.empty() && state_ != State::kClosed && state_ != State::kLingering) {
    unread_.append(bytes);
  }
}

size_t ServerConnection::ProcessHead(std::string_view bytes) {
  head_at_ = parser_.idle() ? loop_.now() : head_at_;
  const size_t taken = parser_.Feed(bytes);
  if (parser_.state() == HeadParser::State::kError) {
    RefuseRequest(parser_.error().status, parser_.error().message);
  } else if (parser_.state() == HeadParser::State::kDone) {
    BeginRequest();
  }
  return taken;
}

size_t ServerConnection::ProcessBody(std::string_view bytes) {
  const size_t taken = body_.Feed(bytes);
  if (body_.state() == BodyReceiver::State::kDone) {
    FinishRequest();
  } else if (body_.state() == BodyReceiver::State::kError) {
    RefuseRequest(400, body_.error());
  }
  return taken;
}

void ServerConnection::BeginRequest() {
  RequestHead head = parser_.Take();
  head.over_tls = loop_.shared().tls != nullptr;
  head_request_ = head.method == "HEAD";
  keep_alive_ = head.keep_alive;
  const bool has_body = head.has_body();
  if (has_body && !loop_.shared().options.take_bodies) {
    return RefuseRequest(413, "requests with a body are not answered here");
  }
  const bool expect_continue = head.expect_continue && has_body;
  body_.Begin(head);
  exchange_ = loop_.shared().factory(std::move(head));
  if (!has_body) {
    return FinishRequest();
  }
  if (expect_continue && !exchange_->wants_body()) {
    keep_alive_ = false;  // the client may send the body all the same: what comes next cannot be told apart
    return FinishRequest();
  }
  body_.DeliverTo(exchange_->wants_body() ? exchange_.get() : nullptr);
  state_ = State::kBody;
  if (expect_continue) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::span<const std::byte> text = std::as_bytes(std::span(kContinue));
    if (channel_->Send(std::span(&text, 1), false).outcome != Channel::Outcome::kMoved) {
      Close();
    }
  }
}

void ServerConnection::RefuseRequest(int status, std::string_view message) {
  loop_.shared().stats.malformed_requests.fetch_add(1, std::memory_order_relaxed);
  ServerResponse response = TextResponse(status, std::string(message));
  response.close_connection = true;
  exchange_.reset();
  BeginResponse(std::move(response));
}

void ServerConnection::FinishRequest() {
  const std::unique_ptr<Exchange> exchange = std::move(exchange_);
  BeginResponse(exchange->Finish(body_.trailers()));
}

void ServerConnection::BeginResponse(ServerResponse response) {
  response_ = std::move(response);
  if (response_->deferred) {
    state_ = State::kDeferred;
    const auto deferred = response_->deferred;
    return deferred->Set([&loop = loop_, id = id_] { loop.WakeConnection(id); });
  }
  keep_alive_ = keep_alive_ && !response_->close_connection;
  if (response_->delay_seconds > 0) {
    state_ = State::kDelay;
    wake_at_ = loop_.now() + response_->delay_seconds;
    loop_.WakeAt(wake_at_, id_);
    return;
  }
  StartSending();
}

void ServerConnection::WaitForResponse() {
  std::optional<ServerResponse> response = response_->deferred->Take();
  if (response) {
    response_->deferred->Set(std::function<void()>());
    BeginResponse(*std::move(response));
  }
}

void ServerConnection::StartSending() {
  std::vector<BodyPiece> body;
  std::string head;
  if (response_->cut == CutKind::kNone || response_->cut_after_bytes >= 0) {
    head = SerializeHead(*response_, head_request_, keep_alive_, loop_.date());
    if (!head_request_) {
      body = std::move(response_->body);
    }
    if (response_->cut != CutKind::kNone) {
      int64_t left = response_->cut_after_bytes;
      for (BodyPiece& piece : body) {
        piece.Truncate(std::min(left, piece.size()));
        left -= piece.size();
      }
    }
  }
  sender_.Begin(std::move(head), std::move(body));
  state_ = State::kSending;
  wake_at_ = 0;
  if (response_->stream && head_request_) {
    response_->stream->Abandon();
    response_->stream.reset();
  } else if (response_->stream) {
    response_->stream->Set([&loop = loop_, id = id_] { loop.WakeConnection(id); });
  }
  Send();
}

/// What has come since the last time; waits where nothing has.
void ServerConnection::SendFromStream() {
  ResponseStream::Waiting waiting = response_->stream->Take();
  if (waiting.overflowed) {
    return Close();  // cut off in the middle: the client sees that something is missing
  }
  if (waiting.bytes.empty() && !waiting.closed) {
    state_ = State::kStreaming;
    return;
  }
  std::string text = waiting.bytes.empty() ? std::string() : AsChunk(waiting.bytes);
  if (waiting.closed) {
    text += AsChunk("");
    response_->stream->Abandon();
    response_->stream.reset();
  }
  sender_.Append(BodyPiece::Text(std::move(text)));
  state_ = State::kSending;
  Send();
}

void ServerConnection::Send() {
  const int64_t before = sender_.total_sent();
  const ResponseSender::Outcome outcome = sender_.Send(*channel_, loop_.now());
  const int64_t sent = sender_.total_sent() - before;
  loop_.shared().stats.bytes_sent.fetch_add(sent, std::memory_order_relaxed);
  active_at_ = sent > 0 ? loop_.now() : active_at_;
  blocked_ = outcome == ResponseSender::Outcome::kBlocked;
  switch (outcome) {
    case ResponseSender::Outcome::kDone:
      return EndResponse();
    case ResponseSender::Outcome::kBlocked:
      return;
    case ResponseSender::Outcome::kPaced:
      wake_at_ = sender_.wake_at();
      return loop_.WakeAt(wake_at_, id_);
    case ResponseSender::Outcome::kBroken:
      return Close();
  }
}

void ServerConnection::EndResponse() {
  if (response_->stream) {
    // Not here and now: a fast writer would never let the loop's other connections have their turn.
    state_ = State::kStreaming;
    return loop_.WakeConnection(id_);
  }
  const ServerResponse response = *std::exchange(response_, std::nullopt);
  const bool whole = response.cut == CutKind::kNone;
  if (response.on_sent) {
    response.on_sent(sender_.body_sent(), whole);
  }
  if (response.cut == CutKind::kReset) {
    const linger reset = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(channel_->socket(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    return Close();
  }
  if (response.cut == CutKind::kStall) {
    state_ = State::kStalled;
    wake_at_ = loop_.now() + kStallSeconds;
    return loop_.WakeAt(wake_at_, id_);
  }
  whole&& keep_alive_ ? NextRequest() : Linger();
}

void ServerConnection::NextRequest() {
  state_ = State::kHead;
  if (channel_->holds_received()) {
    loop_.WakeAt(loop_.now(), id_);
  }
  if (!unread_.empty()) {
    const std::string bytes = std::exchange(unread_, {});
    Process(bytes);
  }
}

/// Closing with unread bytes would reset the connection, and the client might lose the answer: so the end is announced
/// and what still comes is dropped for a while.
void ServerConnection::Linger() {
  channel_->HangUp();
  unread_.clear();
  state_ = State::kLingering;
  wake_at_ = loop_.now() + kLingerSeconds;
  loop_.WakeAt(wake_at_, id_);
}

void ServerConnection::DropReceived() {
  const std::span<char> scratch = loop_.scratch();
  const Channel::Step step = channel_->Receive(std::as_writable_bytes(scratch));
  if (step.outcome != Channel::Outcome::kMoved && step.outcome != Channel::Outcome::kWantRead) {
    Close();
  }
}

}  // namespace assay::http
