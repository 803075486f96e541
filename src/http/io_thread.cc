#include "http/io_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace assay::http {
namespace {

Outcome UnsendableOutcome(std::string flaw) {
  Outcome outcome;
  outcome.error = TransportError::kUnsendable;
  outcome.detail = std::move(flaw);
  return outcome;
}

}  // namespace

IoThread::IoThread(std::unique_ptr<Engine> engine, int max_transfers)
    : max_transfers_(static_cast<size_t>(max_transfers)), engine_(std::move(engine)) {}

void IoThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    engine_->Wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void IoThread::WakeLocked() {
  if (!std::exchange(woken_, true) && std::this_thread::get_id() != thread_.get_id()) {
    engine_->Wake();
  }
}

void IoThread::Submit(Job job) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    job.callback(CancelledOutcome());
    return;
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Run(); });
  }
  submitted_.push_back(std::move(job));
  WakeLocked();
}

void IoThread::Cancel(TransferId id) {
  const std::lock_guard lock(mutex_);
  cancels_.push_back(id);
  WakeLocked();
}

bool IoThread::TakeCommands() {
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

void IoThread::CancelOne(TransferId id) {
  if (engine_->Cancel(id)) {
    return;
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [id](const Job& job) { return job.id == id; });
  if (found != waiting_.end()) {
    const Client::Callback callback = std::move(found->callback);
    waiting_.erase(found);
    callback(CancelledOutcome());
  }
}

void IoThread::BeginWaiting() {
  while (!waiting_.empty() && engine_->active() < max_transfers_) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    if (auto flaw = FlawOf(job.transfer.request)) {
      job.callback(UnsendableOutcome(*std::move(flaw)));
    } else {
      engine_->Begin(std::move(job));
    }
  }
}

void IoThread::Run() {
  while (TakeCommands()) {
    BeginWaiting();
    engine_->RunOnce();
  }
  engine_->CancelAll();
  while (!waiting_.empty()) {
    CancelOne(waiting_.front().id);
  }
}

}  // namespace assay::http
