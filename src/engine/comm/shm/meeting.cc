#include "engine/comm/shm/meeting.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include "base/text.h"
#include "engine/comm/lost_ranks.h"

namespace assay::engine {
namespace {

/// How long a rank sleeps before it looks whether its peer still lives.
constexpr double kSleepSeconds = 0.05;

bool reached(const SharedCounter& counter, uint32_t target) {
  return static_cast<int32_t>(counter.value.load(std::memory_order_acquire) - target) >= 0;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Sleeps until `counter` changes from `seen`, or a while.
void sleep_on(SharedCounter& counter, uint32_t seen) {
  const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(kSleepSeconds * 1e9)};
  ::syscall(SYS_futex, &counter.value, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace

int spins_for(int ranks) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool known = ::sched_getaffinity(0, sizeof(cores), &cores) == 0;
  constexpr int kSpinsWithOwnCore = 4000;
  constexpr int kSpinsWithout = 50;
  return known && CPU_COUNT(&cores) < ranks ? kSpinsWithout : kSpinsWithOwnCore;
}

/// What is wrong with a peer; no text: nothing.
struct Meeting::Trouble {
  std::string text = {};
  bool may_wait_itself = false;  ///< for a rank of another machine, in a job that has several
};

/// How long a rank has waited for a peer, and when that is too long.
class Meeting::Patience {
 public:
  Patience(const JobWatch& job, int machine_rank) : job_(job), machine_rank_(machine_rank) {}

  /// Counts one sleep of `seconds`; gives what is wrong with the peer when the patience is at its end. A sleep that
  /// took much longer than asked for is time in which this process was stopped itself.
  Trouble after_sleep(double seconds) {
    const double waited = std::min(seconds, 4 * kSleepSeconds);
    const PeerState state = job_.peers.state(machine_rank_);
    waited_ += waited;
    stopped_ = state == PeerState::kStopped ? stopped_ + waited : 0;
    if (state == PeerState::kEnded) {
      return {.text = "its process has ended"};
    }
    if (stopped_ > job_.options.stopped_seconds) {
      return {.text = fmt::format("its process has been stopped for {}", FormatSeconds(job_.options.stopped_seconds))};
    }
    if (waited_ > job_.options.deadline_seconds) {
      return {.text = fmt::format("it has not come for {}, though its process lives",
                                  FormatSeconds(job_.options.deadline_seconds)),
              .may_wait_itself = true};
    }
    return {};
  }

 private:
  const JobWatch& job_;
  int machine_rank_;
  double waited_ = 0;
  double stopped_ = 0;
};

Meeting::Meeting(ControlBlock block, int rank, std::vector<int> machine_ranks, std::string name,
                 std::shared_ptr<const JobWatch> job, bool serves_larger)
    : block_(block),
      rank_(rank),
      machine_ranks_(std::move(machine_ranks)),
      name_(std::move(name)),
      job_(std::move(job)),
      serves_larger_(serves_larger) {}

std::string Meeting::where(const Call& call) const {
  return name_.empty() ? place_of(call) : fmt::format("{} of group {}", place_of(call), name_);
}

void Meeting::open(const Call& call, const Announcement& own) {
  check_failure();
  block_.slot(rank_).calls[call.number & 1] = own;
  meet(call);
  check_same(call);
}

const Announcement& Meeting::announced(int rank, const Call& call) const {
  return block_.slot(rank).calls[call.number & 1];
}

void Meeting::meet(const Call& call) {
  ++phase_;
  raise(block_.slot(rank_).phase, phase_);
  const int size = static_cast<int>(machine_ranks_.size());
  for (int step = 1; step < size; ++step) {
    const int peer = (rank_ + step) % size;
    await(block_.slot(peer).phase, phase_, peer, call);
  }
}

void Meeting::check_same(const Call& call) const {
  const Announcement& first = announced(0, call);
  for (int rank = 1; rank < static_cast<int>(machine_ranks_.size()); ++rank) {
    const Announcement& other = announced(rank, call);
    if (!same_call(first, other)) {
      fail(describe_mismatch(name_, job_rank(0), first, job_rank(rank), other));
    }
  }
}

void Meeting::raise(SharedCounter& counter, uint32_t value) {
  counter.value.store(value, std::memory_order_seq_cst);
  if (counter.sleepers.load(std::memory_order_seq_cst) > 0) {
    ::syscall(SYS_futex, &counter.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

void Meeting::await(SharedCounter& counter, uint32_t target, int rank, const Call& call) const {
  for (int spin = 0; spin < job_->spins; ++spin) {
    if (reached(counter, target)) {
      return;
    }
    pause();
  }
  Patience patience(*job_, machine_rank(rank));
  while (!reached(counter, target)) {
    const double start = MonotonicSeconds();
    counter.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = counter.value.load(std::memory_order_seq_cst);
    if (static_cast<int32_t>(seen - target) < 0) {
      sleep_on(counter, seen);
    }
    counter.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (reached(counter, target)) {
      return;
    }
    check_failure();
    Trouble trouble = patience.after_sleep(MonotonicSeconds() - start);
    if (block_.slot(rank).farewell.value.load(std::memory_order_acquire) != 0) {
      trouble = {.text = "it has left the group"};
    }
    // The last thing that a rank did before it ended may have been to come.
    if (!trouble.text.empty() && !reached(counter, target)) {
      lose(rank, call, trouble);
    }
  }
}

void Meeting::lose(int rank, const Call& call, const Trouble& trouble) const {
  const std::string line =
      fmt::format("{} was lost in {}: {}", job_->peers.name(machine_rank(rank)), where(call), trouble.text);
  if (trouble.may_wait_itself && job_->outside.publish) {
    record(ConnectionError(line, {job_rank(rank)}));
    throw_unsettled(serves_larger_ ? line : trouble.text, {job_rank(rank)}, where(call));
  }
  fail(line, {job_rank(rank)});
}

void Meeting::throw_unsettled(const std::string& line, const std::vector<int>& suspects,
                              const std::string& where) const {
  if (serves_larger_ || !job_->outside.settle) {
    throw ConnectionError(line, suspects);
  }
  std::vector<int> members;
  for (const int member : machine_ranks_) {
    members.push_back(job_->peers.job_rank(member));
  }
  throw CommError(
      job_->outside.settle({.members = std::move(members), .suspects = suspects, .where = where, .reason = line}));
}

void Meeting::check_failure() const {
  FailureRecord& record = *job_->failure;
  if (record.state.load(std::memory_order_acquire) != FailureRecord::kSet) {
    return;
  }
  if (record.settled == 0) {
    throw_unsettled(record.text, {}, name_.empty() ? "a collective" : "group " + name_);
  }
  if (job_->outside.leave) {
    job_->outside.leave();
  }
  throw CommError(record.text);
}

void Meeting::fail(const std::string& text, const std::vector<int>& lost) const {
  check_failure();
  const CommError error(job_->outside.publish ? job_->outside.publish(text, lost) : text);
  record(error);
  constexpr int kLooks = 1000;
  for (int look = 0; look < kLooks; ++look) {
    check_failure();  // another rank may be writing the record
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  throw error;
}

void Meeting::record(const CommError& error) const {
  FailureRecord& record = *job_->failure;
  uint32_t expected = FailureRecord::kNone;
  if (record.state.compare_exchange_strong(expected, FailureRecord::kWriting)) {
    std::strncpy(record.text, error.what(), sizeof(record.text) - 1);
    record.settled = dynamic_cast<const ConnectionError*>(&error) == nullptr ? 1 : 0;
    record.state.store(FailureRecord::kSet, std::memory_order_release);
  }
}

void Meeting::leave() {
  raise(block_.slot(rank_).farewell, 1);
}

}  // namespace assay::engine
