#include "storage/read_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr std::chrono::milliseconds kAwaitPoll(50);
/// Of reads that somebody waits for: before all that are read ahead.
constexpr int kAwaitedPriority = 1 << 16;

}  // namespace

/// Memory of the window. Copies of it are made with the state's mutex held, the last one is not let go of with it.
struct ReadAhead::Lease {
  Lease(std::shared_ptr<State> of, int64_t size);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  std::shared_ptr<State> state;  ///< null: given back already
  std::unique_ptr<std::byte[]> memory;
  const int64_t bytes;
  int loans = 0;  ///< takers that have it; needs the state's mutex
};

/// What one taker has of a lease.
struct ReadAhead::Loan {
  explicit Loan(std::shared_ptr<Lease> of) : lease(std::move(of)) {}  // counted already
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan();

  std::shared_ptr<Lease> lease;
};

struct ReadAhead::State : std::enable_shared_from_this<State> {
  enum class Stage { kWaiting, kReading, kReady, kFailed };

  struct Range {
    Id id = 0;
    WantedRange wanted;
    Stage stage = Stage::kWaiting;
    int takers_left = 1;
    bool dropped = false;
    Status status;
    std::shared_ptr<Lease> lease;
    std::shared_ptr<Transfer> transfer;
  };
  using Ranges = std::list<Range>;  ///< the most urgent first, but for what is awaited
  using Place = Ranges::iterator;

  State(Transfers& by, ObjectStore& from, ReadAheadOptions how) : transfers(by), store(from), options(how) {}

  // All need the mutex.
  Place Find(Id id);
  void Insert(Range range);
  /// One taker less. What may be the last of its memory is the caller's to let go of, without the mutex.
  std::shared_ptr<Lease> TakeOnce(Place place);
  /// What is to be read next.
  Place Next();
  bool HasRoom(int64_t bytes) const { return taken + bytes <= options.window_bytes; }
  /// Gives up what lies ready, the last first, until there is room.
  void MakeRoom(int64_t bytes);
  void GiveBack(Lease& lease);
  void Advance();
  void Start(Range& range);

  void Ended(Id id, const Status& status);

  Transfers& transfers;
  ObjectStore& store;
  const ReadAheadOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  Ranges ranges;
  std::map<Id, Place> places;
  std::map<Id, int> awaited;  ///< how many threads wait for it
  Id last_id = 0;
  int64_t taken = 0;
  int64_t peak = 0;
  int reading = 0;
  bool stopping = false;
};

ReadAhead::Lease::Lease(std::shared_ptr<State> of, int64_t size)
    : state(std::move(of)),
      memory(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(size))),
      bytes(size) {
  state->taken += bytes;
  state->peak = std::max(state->peak, state->taken);
}

ReadAhead::Lease::~Lease() {
  if (const std::shared_ptr<State> of = state) {
    const std::lock_guard lock(of->mutex);
    of->GiveBack(*this);
    of->Advance();
    of->changed.notify_all();
  }
}

ReadAhead::Loan::~Loan() {
  const std::shared_ptr<State> of = lease->state;
  const std::lock_guard lock(of->mutex);
  // Of one that others will still take, the memory may now be given up for who waits.
  if (--lease->loans == 0) {
    of->Advance();
    of->changed.notify_all();
  }
}

void ReadAhead::State::GiveBack(Lease& lease) {
  taken -= lease.bytes;
  lease.memory.reset();
  lease.state.reset();
}

ReadAhead::State::Place ReadAhead::State::Find(Id id) {
  const auto found = places.find(id);
  return found == places.end() ? ranges.end() : found->second;
}

void ReadAhead::State::Insert(Range range) {
  auto before = ranges.end();
  while (before != ranges.begin() && std::prev(before)->wanted.priority < range.wanted.priority) {
    --before;
  }
  const Id id = range.id;
  places[id] = ranges.insert(before, std::move(range));
}

std::shared_ptr<ReadAhead::Lease> ReadAhead::State::TakeOnce(Place place) {
  if (--place->takers_left > 0) {
    return place->lease;
  }
  if (place->stage == Stage::kReading) {
    // Its memory is written to until it has ended.
    place->dropped = true;
    place->transfer->Cancel();
    return nullptr;
  }
  std::shared_ptr<Lease> lease = std::move(place->lease);
  places.erase(place->id);
  ranges.erase(place);
  return lease;
}

ReadAhead::State::Place ReadAhead::State::Next() {
  for (const auto& [id, threads] : awaited) {
    if (const Place place = Find(id); place != ranges.end() && place->stage == Stage::kWaiting) {
      return place;
    }
  }
  return std::ranges::find(ranges, Stage::kWaiting, &Range::stage);
}

void ReadAhead::State::MakeRoom(int64_t bytes) {
  for (auto last = ranges.rbegin(); last != ranges.rend() && !HasRoom(bytes); ++last) {
    // What one of several has taken stays that one's.
    if (last->stage == Stage::kReady && last->lease->loans == 0 && !awaited.contains(last->id)) {
      GiveBack(*last->lease);
      last->lease.reset();
      last->stage = Stage::kWaiting;
    }
  }
}

void ReadAhead::State::Advance() {
  while (!stopping && reading < options.reads_at_a_time) {
    const Place next = Next();
    if (next == ranges.end()) {
      return;
    }
    if (awaited.contains(next->id)) {
      MakeRoom(next->wanted.bytes);
    }
    if (!HasRoom(next->wanted.bytes)) {
      return;
    }
    Start(*next);
  }
}

void ReadAhead::State::Start(Range& range) {
  range.stage = Stage::kReading;
  range.lease = std::make_shared<Lease>(shared_from_this(), range.wanted.bytes);
  ++reading;
  ReadOptions read;
  read.if_match = range.wanted.if_match;
  read.verify = options.verify;
  TransferOptions transfer;
  transfer.priority =
      awaited.contains(range.id) ? kAwaitedPriority : std::min(range.wanted.priority, kAwaitedPriority - 1);
  transfer.on_done = [state = shared_from_this(), id = range.id](const Result<ObjectInfo>& result) {
    state->Ended(id, result.status());
  };
  const ReadPiece piece = {range.wanted.offset, {range.lease->memory.get(), static_cast<size_t>(range.wanted.bytes)}};
  range.transfer = transfers.Read(store, range.wanted.key, {piece}, read, std::move(transfer));
}

void ReadAhead::State::Ended(Id id, const Status& status) {
  const std::lock_guard lock(mutex);
  const Place place = Find(id);
  --reading;
  place->transfer.reset();
  place->stage = status.ok() ? Stage::kReady : Stage::kFailed;
  place->status = status;
  if (!status.ok() || place->dropped) {
    GiveBack(*place->lease);
    place->lease.reset();
  }
  if (place->dropped) {
    ranges.erase(place);
    places.erase(id);
  }
  Advance();
  changed.notify_all();
}

Bytes ReadAhead::Block::bytes() const {
  return loan_ ? Bytes(loan_->lease->memory.get(), static_cast<size_t>(loan_->lease->bytes)) : Bytes();
}

ReadAhead::ReadAhead(Transfers& transfers, ObjectStore& store, ReadAheadOptions options)
    : state_(std::make_shared<State>(transfers, store, options)) {}

ReadAhead::~ReadAhead() {
  State::Ranges left;
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  for (const State::Range& range : state_->ranges) {
    if (range.transfer) {
      range.transfer->Cancel();
    }
  }
  state_->changed.wait(lock, [this] { return state_->reading == 0; });
  state_->places.clear();
  left.swap(state_->ranges);
  lock.unlock();
}

ReadAhead::Id ReadAhead::Add(WantedRange range) {
  const std::lock_guard lock(state_->mutex);
  State::Range added;
  added.id = ++state_->last_id;
  added.takers_left = std::max(range.takers, 1);
  if (range.takers < 1 || range.bytes < 0 || range.bytes > state_->options.window_bytes) {
    added.stage = State::Stage::kFailed;
    added.status = Status::InvalidArgument(fmt::format(
        "cannot read {} bytes of {} ahead for {} takers: the window has {} (make it larger, or the ranges smaller)",
        range.bytes, state_->store.Uri(range.key), range.takers, state_->options.window_bytes));
  }
  added.wanted = std::move(range);
  const Id id = added.id;
  state_->Insert(std::move(added));
  state_->Advance();
  return id;
}

Result<ReadAhead::Block> ReadAhead::Take(Id id, CancelFlag cancel) {
  std::unique_lock lock(state_->mutex);
  const auto is_over = [&] {
    const State::Place place = state_->Find(id);
    return place == state_->ranges.end() || place->dropped || place->stage == State::Stage::kReady ||
           place->stage == State::Stage::kFailed;
  };
  ++state_->awaited[id];
  state_->Advance();
  while (!is_over() && !IsCancelled(cancel)) {
    state_->changed.wait_for(lock, kAwaitPoll);
  }
  if (--state_->awaited[id] == 0) {
    state_->awaited.erase(id);
  }
  if (!is_over()) {
    return Status::Aborted("interrupted while waiting for a read");
  }
  const State::Place place = state_->Find(id);
  if (place == state_->ranges.end() || place->dropped) {
    return Status::NotFound(fmt::format("no range {} is read ahead: it was dropped, or taken by all its takers", id));
  }
  const Status status = place->status;
  std::shared_ptr<Lease> lease = state_->TakeOnce(place);
  if (status.ok()) {
    ++lease->loans;
  }
  lock.unlock();
  ASSAY_RETURN_IF_ERROR(status);
  return Block(std::make_shared<const Loan>(std::move(lease)));
}

void ReadAhead::Drop(Id id) {
  std::shared_ptr<Lease> let_go;  // after the lock
  const std::lock_guard lock(state_->mutex);
  if (const State::Place place = state_->Find(id); place != state_->ranges.end() && !place->dropped) {
    let_go = state_->TakeOnce(place);
    state_->Advance();  // what waited behind it
    state_->changed.notify_all();
  }
}

void ReadAhead::DropAll() {
  std::vector<std::shared_ptr<Lease>> let_go;  // after the lock
  const std::lock_guard lock(state_->mutex);
  for (auto next = state_->ranges.begin(); next != state_->ranges.end();) {
    const State::Place place = next++;
    place->takers_left = 1;
    if (!place->dropped) {
      let_go.push_back(state_->TakeOnce(place));
    }
  }
  state_->Advance();
  state_->changed.notify_all();
}

int64_t ReadAhead::taken_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->taken;
}

int64_t ReadAhead::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}

}  // namespace assay::storage
