#include "storage/transfer/call_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/text.h"

namespace assay::storage {
namespace {

constexpr double kCancelPollSeconds = 0.05;
constexpr double kReissuePollSeconds = 0.02;
constexpr double kIdleSeconds = 10;
/// Second copies of slow requests: at most one in so many, so that a store in trouble is not asked twice for all.
constexpr int64_t kLaunchesPerReissue = 20;

/// Of calls that end because others did.
Failure FailureOfEnd(const Status& end) {
  return MakeFailure(FailureClass::kPermanent, end.code(), end.message());
}

}  // namespace

/// An attempt on its way.
struct CallRunner::Flight {
  Entry* entry = nullptr;
  Attempt attempt;
  http::TransferId id = 0;
  std::string method;
  double started = 0;
  bool given_up = false;
};

/// A call that is not done.
struct CallRunner::Entry {
  std::unique_ptr<StoreCall> call;
  EntryList::iterator place;
  std::vector<std::unique_ptr<Flight>> flights;
  /// The answer that came first, kept until no other attempt can write any more.
  std::unique_ptr<Flight> winner;
  http::Outcome winner_outcome;
  std::optional<Failure> last_failure;
  AttemptHistory history;
  bool reissued = false;
  double last_started = 0;  ///< of the attempt that `last_failure` is of
  double not_before = 0;
};

CallRunner::CallRunner(const CallContext& context, Limits limits)
    : context_(context), limits_(limits), random_(std::random_device()()) {
  if (context_.options->deadline_seconds > 0 && limits_.deadline == 0) {
    limits_.deadline = MonotonicSeconds() + context_.options->deadline_seconds;
  }
}

CallRunner::~CallRunner() {
  const Status end = Status::Aborted("the operation was given up");
  GiveUp(end, FailureOfEnd(end));
}

void CallRunner::Add(std::unique_ptr<StoreCall> call) {
  entries_.push_back(std::make_unique<Entry>());
  Entry& entry = *entries_.back();
  entry.place = std::prev(entries_.end());
  entry.call = std::move(call);
  ready_.push_back(&entry);
}

void CallRunner::Post(std::function<void()> work) {
  Event event;
  event.work = std::move(work);
  Push(std::move(event));
}

void CallRunner::Push(Event event) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(event));
  if (inbox_.size() == 1) {
    arrived_.notify_one();
  }
}

Status CallRunner::RunBelow(int count) {
  // Once even when there is no need to wait: what was added is sent.
  do {
    if (!stopped_.ok() || GiveUpIfStopped()) {
      break;
    }
    LaunchReady();
    WaitForEvents(count);
    TakeEvents();
    ReissueSlow();
  } while (unfinished() >= count);
  return stopped_;
}

bool CallRunner::GiveUpIfStopped() {
  if (limits_.cancel != nullptr && limits_.cancel->load(std::memory_order_relaxed)) {
    const Status end = Status::Aborted("interrupted");
    GiveUp(end, FailureOfEnd(end));
    return true;
  }
  if (limits_.deadline > 0 && MonotonicSeconds() >= limits_.deadline) {
    const Entry* late = entries_.empty() ? nullptr : entries_.front().get();
    const std::string what = late == nullptr ? "finish" : late->call->operation();
    const std::string uri = late == nullptr ? "" : context_.dialect->Uri(late->call->key());
    Failure failure = MakeFailure(FailureClass::kTimeout, ErrorCode::kIo, "the deadline of the operation has passed");
    if (late != nullptr && late->last_failure) {
      failure.message += " (before that: " + late->last_failure->store_code + " " + late->last_failure->message + ")";
    }
    const Status end = DescribeFailure(what, uri, failure, late == nullptr ? 1 : std::max(1, late->history.attempts));
    GiveUp(end, std::move(failure));
    return true;
  }
  return false;
}

void CallRunner::GiveUp(Status status, Failure why) {
  if (stopped_.ok()) {
    stopped_ = std::move(status);
  }
  for (const auto& entry : entries_) {
    for (const auto& flight : entry->flights) {
      flight->given_up = true;
      context_.client->Cancel(flight->id);
    }
  }
  ready_.clear();
  delayed_.clear();
  while (true) {
    flights_ -= static_cast<int>(std::count_if(batch_.begin(), batch_.end(), [](const Event& e) { return e.flight; }));
    batch_.clear();
    if (flights_ == 0) {
      break;
    }
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !inbox_.empty(); });
    batch_.swap(inbox_);
  }
  const EntryList left = std::move(entries_);
  entries_.clear();
  for (const auto& entry : left) {
    entry->call->Done({stopped_, why});
  }
}

void CallRunner::LaunchReady() {
  const double now = delayed_.empty() ? 0 : MonotonicSeconds();
  for (size_t i = 0; i < delayed_.size();) {
    if (delayed_[i]->not_before > now) {
      ++i;
      continue;
    }
    ready_.push_front(delayed_[i]);
    delayed_[i] = delayed_.back();
    delayed_.pop_back();
  }
  while (!ready_.empty() && flights_ < limits_.in_flight) {
    Entry* entry = ready_.front();
    ready_.pop_front();
    Launch(*entry, false);
  }
}

void CallRunner::Launch(Entry& entry, bool reissue) {
  auto flight = std::make_unique<Flight>();
  flight->entry = &entry;
  entry.history.attempts += reissue ? 0 : 1;
  flight->attempt.number = entry.history.attempts;
  flight->attempt.reissue = reissue;
  flight->started = MonotonicSeconds();
  entry.call->Prepare(flight->attempt);
  Outgoing& outgoing = flight->attempt.outgoing;
  Status status = context_.signer->Prepare();
  if (status.ok()) {
    status = context_.signer->Sign(outgoing.request, outgoing.payload_hash);
  }
  if (!status.ok() && reissue) {
    return;
  }
  if (!status.ok()) {
    const std::string context = "cannot " + entry.call->operation() + " " + context_.dialect->Uri(entry.call->key());
    Finish(entry, {status.WithContext(context), MakeFailure(FailureClass::kDenied, status.code(), status.message())});
    return;
  }
  http::Transfer transfer;
  flight->method = outgoing.request.method;
  transfer.request = std::move(outgoing.request);
  transfer.source = outgoing.source ? outgoing.source.get() : flight->attempt.body.get();
  transfer.sink = flight->attempt.sink.get();
  Flight* raw = flight.get();
  entry.flights.push_back(std::move(flight));
  ++flights_;
  ++launches_;
  raw->id = context_.client->Start(std::move(transfer), [this, raw](http::Outcome outcome) {
    Event event;
    event.flight = raw;
    event.outcome = std::move(outcome);
    Push(std::move(event));
  });
}

double CallRunner::WaitSeconds() const {
  double wait = kIdleSeconds;
  const double now = MonotonicSeconds();
  for (const Entry* entry : delayed_) {
    wait = std::min(wait, entry->not_before - now);
  }
  if (limits_.cancel != nullptr) {
    wait = std::min(wait, kCancelPollSeconds);
  }
  if (limits_.deadline > 0) {
    wait = std::min(wait, limits_.deadline - now);
  }
  if (flights_ > 0 && entries_.front()->call->volume()) {
    wait = std::min(wait, kReissuePollSeconds);
  }
  return std::max(wait, 0.0);
}

void CallRunner::WaitForEvents(int count) {
  if (unfinished() < count || !stopped_.ok()) {
    return;
  }
  const auto limit = std::chrono::duration<double>(WaitSeconds());
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, limit, [this] { return !inbox_.empty(); });
}

void CallRunner::TakeEvents() {
  {
    const std::lock_guard lock(mutex_);
    batch_.swap(inbox_);
  }
  // GiveUp() empties the batch.
  while (!batch_.empty()) {
    const Event event = std::move(batch_.front());
    batch_.pop_front();
    if (event.flight != nullptr) {
      Landed(event.flight, event.outcome);
    } else {
      event.work();
    }
  }
}

void CallRunner::Observe(const Flight& flight, const http::Outcome& outcome) const {
  if (context_.observer == nullptr) {
    return;
  }
  const std::string operation = flight.entry->call->operation();
  RequestRecord record;
  record.operation = operation;
  record.method = flight.method;
  record.http_status = outcome.response.status;
  record.error = outcome.error;
  record.attempt = flight.attempt.number;
  record.reissue = flight.attempt.reissue;
  record.new_connection = outcome.response.new_connection;
  const http::BodySource* source =
      flight.attempt.outgoing.source ? flight.attempt.outgoing.source.get() : flight.attempt.body.get();
  record.bytes_sent = source == nullptr ? 0 : source->bytes();
  record.bytes_received = outcome.response.body_bytes;
  record.first_byte_seconds = outcome.response.first_byte_seconds;
  record.total_seconds = outcome.response.total_seconds;
  context_.observer->OnRequest(record);
}

void CallRunner::Landed(Flight* flight, http::Outcome outcome) {
  --flights_;
  Observe(*flight, outcome);
  Entry& entry = *flight->entry;
  const auto place = std::find_if(entry.flights.begin(), entry.flights.end(),
                                  [flight](const auto& candidate) { return candidate.get() == flight; });
  std::unique_ptr<Flight> landed = std::move(*place);
  entry.flights.erase(place);
  if (!landed->given_up && outcome.ok() && outcome.response.status / 100 == 2) {
    entry.winner = std::move(landed);
    entry.winner_outcome = std::move(outcome);
    for (const auto& loser : entry.flights) {
      loser->given_up = true;
      context_.client->Cancel(loser->id);
    }
  } else if (!landed->given_up) {
    entry.last_failure = landed->attempt.refusal ? landed->attempt.refusal
                         : outcome.ok()          ? context_.dialect->ReadFailure(outcome.response)
                                                 : FailureOfTransport(outcome);
    entry.last_started = landed->started;
  }
  // What another attempt of the call still does is awaited: it may yet win, and it may still use the memory.
  if (!entry.flights.empty()) {
    return;
  }
  if (entry.winner) {
    Decide(entry);
  } else {
    FailOrRetry(entry);
  }
}

void CallRunner::Decide(Entry& entry) {
  const std::unique_ptr<Flight> winner = std::move(entry.winner);
  std::optional<Failure> failure = entry.call->Accept(winner->attempt, entry.winner_outcome.response);
  if (failure) {
    entry.last_failure = std::move(failure);
    entry.last_started = winner->started;
    FailOrRetry(entry);
    return;
  }
  if (const auto volume = entry.call->volume()) {
    context_.latencies->Record(volume->first, volume->second, MonotonicSeconds() - winner->started);
  }
  context_.budget->Earn();
  Finish(entry, {Status::Ok(), std::nullopt});
}

/// Attempts that were signed before the last correction say nothing about it.
void CallRunner::CorrectSigner(Entry& entry) {
  const Failure& failure = *entry.last_failure;
  entry.history.expired += failure.kind == FailureClass::kExpired ? 1 : 0;
  entry.history.clock_skew += failure.kind == FailureClass::kClockSkew ? 1 : 0;
  if (entry.last_started <= corrected_) {
    return;
  }
  if (failure.kind == FailureClass::kExpired) {
    context_.signer->Expire();
    corrected_ = MonotonicSeconds();
  } else if (failure.kind == FailureClass::kClockSkew) {
    context_.signer->CorrectClock(failure.date);
    corrected_ = MonotonicSeconds();
  }
}

void CallRunner::FailOrRetry(Entry& entry) {
  CorrectSigner(entry);
  const Failure& failure = *entry.last_failure;
  const auto delay = RetryDelay(failure, entry.history, context_.options->max_attempts, random_);
  if (delay && context_.budget->Spend()) {
    entry.not_before = MonotonicSeconds() + *delay;
    entry.reissued = false;
    delayed_.push_back(&entry);
    return;
  }
  const Status status = DescribeFailure(entry.call->operation(), context_.dialect->Uri(entry.call->key()), failure,
                                        entry.history.attempts);
  Finish(entry, {status, failure, entry.history.attempts});
}

void CallRunner::Finish(Entry& entry, CallResult result) {
  const std::unique_ptr<Entry> owned = std::move(*entry.place);
  entries_.erase(entry.place);
  owned->call->Done(result);
  if (!result.status.ok() && limits_.stop_at_failure && stopped_.ok()) {
    GiveUp(result.status, FailureOfEnd(result.status));
  }
}

void CallRunner::ReissueSlow() {
  const double now = MonotonicSeconds();
  if (flights_ == 0 || now < next_reissue_check_ || !entries_.front()->call->volume()) {
    return;
  }
  next_reissue_check_ = now + kReissuePollSeconds;
  for (const auto& entry : entries_) {
    const auto volume = entry->call->volume();
    if (entry->reissued || entry->flights.size() != 1 || !volume || reissues_ > launches_ / kLaunchesPerReissue) {
      continue;
    }
    const auto slow = context_.latencies->SlowSeconds(volume->first, volume->second);
    if (slow && now - entry->flights.front()->started > *slow) {
      entry->reissued = true;
      ++reissues_;
      Launch(*entry, true);
    }
  }
}

}  // namespace assay::storage
