#include "http/client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/easy_transfer.h"
#include "http/event_loop.h"
#include "http/token_bucket.h"

namespace assay::http {
namespace {

// curl_global_init is not safe beside itself; a function's static is initialised once.
bool InitializeCurl() {
  static const bool initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return initialized;
}

struct Submitted {
  TransferId id = 0;
  Transfer transfer;
  Client::Callback callback;
};

EasyTransfer* TransferOf(CURL* handle) {
  char* transfer = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
  return reinterpret_cast<EasyTransfer*>(transfer);
}

void TellSocket(CURL* handle, curl_socket_t socket) {
  // libcurl closes connections on behalf of a handle of its own.
  if (EasyTransfer* transfer = TransferOf(handle); transfer != nullptr) {
    transfer->set_socket(socket);
  }
}

Outcome UnsendableOutcome(std::string flaw) {
  Outcome outcome;
  outcome.error = TransportError::kUnsendable;
  outcome.detail = std::move(flaw);
  return outcome;
}

Outcome CancelledOutcome() {
  Outcome outcome;
  outcome.error = TransportError::kCancelled;
  outcome.detail = "the request was given up";
  return outcome;
}

}  // namespace

/// The I/O thread with everything that belongs to it.
class Client::Loop {
 public:
  explicit Loop(ClientOptions options)
      : options_(std::move(options)),
        initialized_(InitializeCurl()),
        bucket_(options_.bandwidth_bytes_per_s, MonotonicSeconds()),
        events_(options_.max_connections, &TellSocket) {}
  ~Loop() { Stop(); }

  const ClientOptions& options() const { return options_; }
  TransferId Submit(Transfer transfer, Callback callback);
  void SubmitCancel(TransferId id);

 private:
  void Stop();
  void WakeLocked();
  void Run();
  bool TakeCommands();
  void CancelOne(TransferId id);
  void BeginWaiting();
  void Finished(EasyTransfer* transfer, CURLcode code);
  EasyTransfer* LongestPaused() const;
  double ShareBandwidth();
  void CancelAll();

  const ClientOptions options_;
  const bool initialized_;

  std::mutex mutex_;
  std::deque<Submitted> submitted_;  // guarded by mutex_
  std::vector<TransferId> cancels_;  // guarded by mutex_
  bool stopping_ = false;            // guarded by mutex_
  bool woken_ = false;               // guarded by mutex_
  TransferId next_id_ = 1;           // guarded by mutex_
  std::thread thread_;               // guarded by mutex_ until Stop()

  // The rest belongs to the I/O thread.
  TokenBucket bucket_;
  Received received_;
  EventLoop events_;
  std::deque<Submitted> waiting_;
  std::unordered_map<TransferId, EasyTransfer*> active_;
  std::vector<std::unique_ptr<EasyTransfer>> transfers_;
  std::vector<EasyTransfer*> idle_;
};

void Client::Loop::WakeLocked() {
  if (!std::exchange(woken_, true) && std::this_thread::get_id() != thread_.get_id()) {
    events_.Wake();
  }
}

TransferId Client::Loop::Submit(Transfer transfer, Callback callback) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
  }
  const TransferId id = next_id_++;
  submitted_.push_back({id, std::move(transfer), std::move(callback)});
  WakeLocked();
  return id;
}

void Client::Loop::SubmitCancel(TransferId id) {
  const std::lock_guard lock(mutex_);
  cancels_.push_back(id);
  WakeLocked();
}

void Client::Loop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    events_.Wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Client::Loop::TakeCommands() {
  std::vector<TransferId> cancels;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      waiting_.swap(submitted_);
    } else {
      std::move(submitted_.begin(), submitted_.end(), std::back_inserter(waiting_));
      submitted_.clear();
    }
    cancels.swap(cancels_);
    woken_ = false;
    if (stopping_) {
      return false;
    }
  }
  for (const TransferId id : cancels) {
    CancelOne(id);
  }
  return true;
}

void Client::Loop::CancelOne(TransferId id) {
  if (const auto found = active_.find(id); found != active_.end()) {
    EasyTransfer* transfer = found->second;
    events_.Remove(transfer->handle());
    active_.erase(found);
    idle_.push_back(transfer);
    const Callback callback = transfer->TakeCallback();
    callback(transfer->FinishCancelled());
    return;
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [id](const Submitted& s) { return s.id == id; });
  if (found != waiting_.end()) {
    const Callback callback = std::move(found->callback);
    waiting_.erase(found);
    callback(CancelledOutcome());
  }
}

void Client::Loop::BeginWaiting() {
  while (!waiting_.empty() && active_.size() < static_cast<size_t>(options_.max_connections)) {
    if (auto flaw = FlawOf(waiting_.front().transfer.request)) {
      const Callback callback = std::move(waiting_.front().callback);
      waiting_.pop_front();
      callback(UnsendableOutcome(*std::move(flaw)));
      continue;
    }
    if (idle_.empty()) {
      transfers_.push_back(std::make_unique<EasyTransfer>(options_, bucket_, received_));
      idle_.push_back(transfers_.back().get());
    }
    EasyTransfer* transfer = idle_.back();
    idle_.pop_back();
    Submitted next = std::move(waiting_.front());
    waiting_.pop_front();
    transfer->Begin(next.id, std::move(next.transfer), std::move(next.callback));
    active_[next.id] = transfer;
    events_.Add(transfer->handle());
  }
  received_.transfers = active_.size();
}

void Client::Loop::Finished(EasyTransfer* transfer, CURLcode code) {
  active_.erase(transfer->id());
  const Callback callback = transfer->TakeCallback();
  Outcome outcome = transfer->Finish(code);
  idle_.push_back(transfer);
  callback(std::move(outcome));
}

EasyTransfer* Client::Loop::LongestPaused() const {
  EasyTransfer* longest = nullptr;
  for (const auto& [id, transfer] : active_) {
    if (transfer->paused_since() > 0 && (longest == nullptr || transfer->paused_since() < longest->paused_since())) {
      longest = transfer;
    }
  }
  return longest;
}

/// How long to wait for sockets. Under a cap, lets the transfer go on that has waited longest: none starves.
double Client::Loop::ShareBandwidth() {
  constexpr double kIdleSeconds = 60;
  constexpr double kTurnSeconds = 0.001;
  if (bucket_.unlimited()) {
    return kIdleSeconds;
  }
  if (const double wait = bucket_.WaitSeconds(MonotonicSeconds()); wait > 0) {
    return wait;
  }
  EasyTransfer* next = LongestPaused();
  if (next == nullptr) {
    return kIdleSeconds;
  }
  next->Resume();
  return kTurnSeconds;
}

void Client::Loop::CancelAll() {
  std::vector<TransferId> ids;
  for (const auto& [id, transfer] : active_) {
    ids.push_back(id);
  }
  for (const Submitted& submitted : waiting_) {
    ids.push_back(submitted.id);
  }
  for (const TransferId id : ids) {
    CancelOne(id);
  }
}

void Client::Loop::Run() {
  const auto done = [this](CURL* handle, CURLcode code) { Finished(TransferOf(handle), code); };
  while (TakeCommands()) {
    BeginWaiting();
    events_.RunOnce(ShareBandwidth(), done);
  }
  CancelAll();
}

Client::Client(ClientOptions options) : loop_(std::make_unique<Loop>(std::move(options))) {}

Client::~Client() = default;

const ClientOptions& Client::options() const {
  return loop_->options();
}

TransferId Client::Start(Transfer transfer, Callback callback) {
  return loop_->Submit(std::move(transfer), std::move(callback));
}

void Client::Cancel(TransferId id) {
  loop_->SubmitCancel(id);
}

Outcome Client::Run(Transfer transfer) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Outcome> answer;
  Start(std::move(transfer), [&](Outcome outcome) {
    const std::lock_guard lock(mutex);
    answer = std::move(outcome);
    arrived.notify_one();
  });
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return answer.has_value(); });
  return std::move(*answer);
}

Result<Response> Client::Fetch(Request request) {
  const std::string what = fmt::format("{} {}", request.method, request.url.substr(0, request.url.find('?')));
  Transfer transfer;
  transfer.request = std::move(request);
  Outcome outcome = Run(std::move(transfer));
  if (!outcome.ok()) {
    return Status::Io(fmt::format("{}: {}: {}", what, NameOf(outcome.error), outcome.detail));
  }
  return std::move(outcome.response);
}

}  // namespace assay::http
