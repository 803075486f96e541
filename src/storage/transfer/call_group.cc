#include "storage/transfer/call_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <random>

#include "base/text.h"

namespace assay::storage {
namespace {

constexpr double kCancelPollSeconds = 0.05;
constexpr double kReissuePollSeconds = 0.02;
/// Second copies of slow requests: at most one in so many, so that a store in trouble is not asked twice for all.
constexpr int64_t kLaunchesPerReissue = 20;

Status InterruptedStatus() {
  return Status::Aborted("interrupted");
}

/// Of calls that end because others did.
Failure FailureOfEnd(const Status& end) {
  return MakeFailure(FailureClass::kPermanent, end.code(), end.message());
}

}  // namespace

/// An attempt on its way.
struct CallFlight {
  CallEntry* entry = nullptr;
  Attempt attempt;
  http::TransferId id = 0;
  std::string method;
  int64_t body_bytes = 0;
  double started = 0;
  bool given_up = false;
};

/// A call that is not done.
struct CallEntry {
  std::unique_ptr<StoreCall> call;
  std::list<std::unique_ptr<CallEntry>>::iterator place;
  std::vector<std::unique_ptr<CallFlight>> flights;
  /// The answer that came first, kept until no other attempt can write any more.
  std::unique_ptr<CallFlight> winner;
  http::Outcome winner_outcome;
  std::optional<Failure> last_failure;
  AttemptHistory history;
  bool reissued = false;
  double last_started = 0;  ///< of the attempt that `last_failure` is of
  double not_before = 0;
  bool large = false;  ///< may have a second copy
};

double DeadlineOf(const StoreOptions& options) {
  return options.deadline_seconds > 0 ? MonotonicSeconds() + options.deadline_seconds : 0;
}

namespace {

/// One that no group had before: to ask the machine for each costs more than many a request.
uint64_t NextSeed() {
  static std::atomic<uint64_t> next = uint64_t{std::random_device()()} << 32;
  return next.fetch_add(1);
}

}  // namespace

CallGroup::CallGroup(const CallContext& context, Limits limits)
    : context_(context), limits_(limits), random_(NextSeed()) {
  limits_.priority = std::min(limits_.priority, CallEngine::kSinglePriority);
  if (limits_.deadline == 0) {
    limits_.deadline = DeadlineOf(*context_.options);
  }
}

CallGroup::~CallGroup() {
  std::unique_lock lock(mutex_);
  if (unfinished_ > 0) {
    lock.unlock();
    GiveUp();
    lock.lock();
  }
  changed_.wait(lock, [this] { return held_ == 0; });
}

void CallGroup::GiveUp() {
  Post([this] {
    const Status end = Status::Aborted("the operation was given up");
    EndAll(end, FailureOfEnd(end));
  });
}

void CallGroup::Hold() {
  const std::lock_guard lock(mutex_);
  ++held_;
}

void CallGroup::LetGo() {
  const std::lock_guard lock(mutex_);
  if (--held_ == 0) {
    changed_.notify_all();
  }
}

void CallGroup::Add(std::unique_ptr<StoreCall> call) {
  {
    const std::lock_guard lock(mutex_);
    ++unfinished_;
    ++held_;
  }
  CallEngine::Event event;
  event.group = this;
  event.call = std::move(call);
  context_.engine->Push(std::move(event));
}

void CallGroup::Post(std::function<void()> work) {
  Hold();
  CallEngine::Event event;
  event.group = this;
  event.work = std::move(work);
  context_.engine->Push(std::move(event));
}

Status CallGroup::WaitAll() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return unfinished_ == 0; });
  }
  return status();
}

bool CallGroup::Suspend(int count, Executor& executor, std::coroutine_handle<> task) {
  const std::lock_guard lock(mutex_);
  if (IsBelow(count)) {
    return false;
  }
  awaiting_ = {count, &executor, task};
  return true;
}

void CallGroup::Tell() {
  changed_.notify_all();
  if (awaiting_ && IsBelow(awaiting_->count)) {
    const Awaiting awaiting = *std::exchange(awaiting_, std::nullopt);
    awaiting.executor->Post(awaiting.task);
  }
}

bool CallGroup::done() {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0;
}

Status CallGroup::status() {
  const std::lock_guard lock(mutex_);
  return stopped_.ok() && is_cancelled() ? InterruptedStatus() : stopped_;
}

void CallGroup::Take(std::unique_ptr<StoreCall> call) {
  entries_.push_back(std::make_unique<CallEntry>());
  CallEntry& entry = *entries_.back();
  entry.place = std::prev(entries_.end());
  entry.call = std::move(call);
  entry.large = entry.call->volume().has_value();
  large_ += entry.large ? 1 : 0;
  if (given_up_) {
    Finish(entry, *given_up_);
  } else {
    ready_.push_back(&entry);
  }
}

void CallGroup::EndWhereDue(double now) {
  const bool is_late = limits_.deadline > 0 && now >= limits_.deadline;
  if (given_up_ || !(is_late || is_cancelled())) {
    return;
  }
  due_at_ = due_at_ > 0 ? due_at_ : now;
  if (flights_ > 0 && now < due_at_ + limits_.linger_seconds) {
    return;
  }
  if (is_cancelled()) {
    const Status end = InterruptedStatus();
    EndAll(end, FailureOfEnd(end));
  } else {
    EndLate();
  }
}

void CallGroup::Check(double now) {
  EndWhereDue(now);
  for (size_t i = 0; i < delayed_.size();) {
    if (delayed_[i]->not_before > now) {
      ++i;
      continue;
    }
    ready_.push_front(delayed_[i]);
    delayed_[i] = delayed_.back();
    delayed_.pop_back();
  }
}

void CallGroup::EndLate() {
  const CallEntry& late = *entries_.front();
  Failure failure = MakeFailure(FailureClass::kTimeout, ErrorCode::kIo, "the deadline of the operation has passed");
  if (late.last_failure) {
    failure.message += " (before that: " + late.last_failure->store_code + " " + late.last_failure->message + ")";
  }
  const Status end = DescribeFailure(late.call->operation(), context_.dialect->Uri(late.call->key()), failure,
                                     std::max(1, late.history.attempts));
  EndAll(end, std::move(failure));
}

void CallGroup::EndAll(const Status& status, Failure why) {
  if (given_up_) {
    return;
  }
  given_up_ = {status, std::move(why)};
  {
    const std::lock_guard lock(mutex_);
    stopped_ = status;
  }
  ready_.clear();
  delayed_.clear();
  for (auto next = entries_.begin(); next != entries_.end();) {
    CallEntry& entry = **next++;
    for (const auto& flight : entry.flights) {
      flight->given_up = true;
      context_.client->Cancel(flight->id);
    }
    if (entry.flights.empty()) {
      Finish(entry, *given_up_);
    }
  }
}

void CallGroup::LaunchNext() {
  EndWhereDue(MonotonicSeconds());
  if (ready_.empty()) {
    return;
  }
  CallEntry* entry = ready_.front();
  ready_.pop_front();
  Launch(*entry, false);
}

void CallGroup::FailUnsigned(const Status& why) {
  while (!ready_.empty()) {
    CallEntry* entry = ready_.front();
    ready_.pop_front();
    FailSigning(*entry, why);
  }
}

void CallGroup::FailSigning(CallEntry& entry, const Status& why) {
  const std::string context = "cannot " + entry.call->operation() + " " + context_.dialect->Uri(entry.call->key());
  Finish(entry, {why.WithContext(context), MakeFailure(FailureClass::kDenied, why.code(), why.message())});
}

void CallGroup::Launch(CallEntry& entry, bool reissue) {
  auto flight = std::make_unique<CallFlight>();
  flight->entry = &entry;
  entry.history.attempts += reissue ? 0 : 1;
  flight->attempt.number = entry.history.attempts;
  flight->attempt.reissue = reissue;
  flight->started = MonotonicSeconds();
  entry.call->Prepare(flight->attempt);
  Outgoing& outgoing = flight->attempt.outgoing;
  const Status status =
      outgoing.is_signed ? context_.signer->Sign(outgoing.request, outgoing.payload_hash) : Status::Ok();
  if (!status.ok() && reissue) {
    return;
  }
  if (!status.ok()) {
    FailSigning(entry, status);
    return;
  }
  http::Transfer transfer;
  flight->method = outgoing.request.method;
  flight->attempt.url = outgoing.request.url;
  flight->body_bytes = outgoing.request.body_bytes();
  transfer.request = std::move(outgoing.request);
  transfer.source = outgoing.source ? outgoing.source.get() : flight->attempt.body.get();
  if (transfer.source != nullptr) {
    flight->body_bytes = transfer.source->bytes();
  }
  transfer.sink = flight->attempt.sink.get();
  CallFlight* raw = flight.get();
  entry.flights.push_back(std::move(flight));
  ++flights_;
  ++context_.engine->flights_;
  ++launches_;
  Hold();  // until it has landed
  raw->id = context_.client->Start(std::move(transfer), [this, raw](http::Outcome outcome) {
    CallEngine::Event event;
    event.group = this;
    event.flight = raw;
    event.outcome = std::move(outcome);
    context_.engine->Push(std::move(event));
  });
}

double CallGroup::WakeAt() const {
  const double end = due_at_ > 0 ? due_at_ + limits_.linger_seconds : limits_.deadline;
  double wake = end > 0 && !given_up_ ? end : std::numeric_limits<double>::max();
  for (const CallEntry* entry : delayed_) {
    wake = std::min(wake, entry->not_before);
  }
  if (limits_.cancel != nullptr && !given_up_) {
    wake = std::min(wake, MonotonicSeconds() + kCancelPollSeconds);
  }
  if (flights_ > 0 && large_ > 0 && !given_up_) {
    wake = std::min(wake, next_reissue_check_);
  }
  return wake;
}

void CallGroup::Observe(const CallFlight& flight, const http::Outcome& outcome) const {
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
  record.bytes_sent = flight.body_bytes;
  record.bytes_received = outcome.response.body_bytes;
  record.first_byte_seconds = outcome.response.first_byte_seconds;
  record.total_seconds = outcome.response.total_seconds;
  context_.observer->OnRequest(record);
}

void CallGroup::Landed(CallFlight* flight, http::Outcome outcome) {
  --flights_;
  CallEntry& entry = *flight->entry;
  if (!given_up_) {
    Observe(*flight, outcome);
  }
  const auto place = std::find_if(entry.flights.begin(), entry.flights.end(),
                                  [flight](const auto& candidate) { return candidate.get() == flight; });
  std::unique_ptr<CallFlight> landed = std::move(*place);
  entry.flights.erase(place);
  const bool answered = outcome.ok() || landed->attempt.satisfied;
  if (!landed->given_up && answered && entry.call->IsAnswer(outcome.response.status)) {
    entry.winner = std::move(landed);
    entry.winner_outcome = std::move(outcome);
    for (const auto& loser : entry.flights) {
      loser->given_up = true;
      context_.client->Cancel(loser->id);
    }
  } else if (!landed->given_up) {
    entry.last_failure = landed->attempt.refusal ? landed->attempt.refusal
                         : answered              ? context_.dialect->ReadFailure(outcome.response)
                                                 : FailureOfTransport(outcome);
    context_.dialect->Reroute({entry.call->key(), landed->attempt.url}, outcome.response, *entry.last_failure);
    if (entry.last_failure->kind == FailureClass::kExpired && !landed->attempt.outgoing.is_signed) {
      entry.last_failure->kind = FailureClass::kDenied;  // fresh credentials would change nothing
    }
    entry.last_started = landed->started;
  }
  // What another attempt of the call still does is awaited: it may yet win, and it may still use the memory.
  if (!entry.flights.empty()) {
    return;
  }
  if (given_up_) {
    Finish(entry, *given_up_);
  } else if (entry.winner) {
    Decide(entry);
  } else {
    FailOrRetry(entry);
  }
}

void CallGroup::Decide(CallEntry& entry) {
  const std::unique_ptr<CallFlight> winner = std::move(entry.winner);
  std::optional<Failure> failure = entry.call->Accept(winner->attempt, entry.winner_outcome.response);
  if (failure) {
    entry.last_failure = std::move(failure);
    context_.dialect->Reroute({entry.call->key(), winner->attempt.url}, entry.winner_outcome.response,
                              *entry.last_failure);
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
void CallGroup::CorrectSigner(CallEntry& entry) {
  const Failure& failure = *entry.last_failure;
  entry.history.expired += failure.kind == FailureClass::kExpired ? 1 : 0;
  entry.history.clock_skew += failure.kind == FailureClass::kClockSkew ? 1 : 0;
  double& corrected = context_.engine->corrected_;
  if (entry.last_started <= corrected) {
    return;
  }
  if (failure.kind == FailureClass::kExpired) {
    context_.signer->Expire();
    corrected = MonotonicSeconds();
  } else if (failure.kind == FailureClass::kClockSkew) {
    context_.signer->CorrectClock(failure.date);
    corrected = MonotonicSeconds();
  }
}

void CallGroup::FailOrRetry(CallEntry& entry) {
  CorrectSigner(entry);
  const Failure& failure = *entry.last_failure;
  if (failure.kind == FailureClass::kAgain) {
    entry.history.attempts = failure.counts_anew ? 0 : entry.history.attempts - 1;
    entry.last_failure.reset();
    ready_.push_front(&entry);
    return;
  }
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

void CallGroup::Finish(CallEntry& entry, const CallResult& result) {
  const std::unique_ptr<CallEntry> owned = std::move(*entry.place);
  entries_.erase(entry.place);
  large_ -= owned->large ? 1 : 0;
  owned->call->Done(result);
  if (!result.status.ok() && limits_.stop_at_failure) {
    EndAll(result.status, FailureOfEnd(result.status));
  }
  const std::lock_guard lock(mutex_);
  --unfinished_;
  Tell();
}

void CallGroup::ReissueSlow(double now) {
  if (given_up_ || flights_ == 0 || large_ == 0 || now < next_reissue_check_) {
    return;
  }
  next_reissue_check_ = now + kReissuePollSeconds;
  for (const auto& entry : entries_) {
    const auto volume = entry->flights.size() == 1 ? entry->call->volume() : std::nullopt;
    if (entry->reissued || !volume || reissues_ > launches_ / kLaunchesPerReissue) {
      continue;
    }
    const auto slow = context_.latencies->SlowSeconds(volume->first, volume->second);
    if (slow && now - entry->flights.front()->started > *slow && entry->call->PrepareReissue()) {
      entry->reissued = true;
      ++reissues_;
      Launch(*entry, true);
    }
  }
}

}  // namespace assay::storage
