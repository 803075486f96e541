#include "shards/stream/sample_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/thread_cpu.h"

namespace assay::shards {
namespace {

/// Samples that are looked ahead: more than a block of py1e, within which the next use of every shard at work lies.
constexpr int64_t kLongestPlan = int64_t{1} << 20;
constexpr int64_t kFirstPlan = int64_t{1} << 16;
/// For each sample that is taken, so that the plan grows while it is used.
constexpr int64_t kPlanStep = 8;
/// Samples between two looks at what can be fetched.
constexpr int64_t kFetchStep = 64;

/// Samples that `memory_bytes` have room for.
int64_t SamplesIn(int64_t memory_bytes, std::span<const StreamSource> sources) {
  int64_t bytes = 0;
  int64_t samples = 0;
  for (const StreamSource& source : sources) {
    for (const ShardEntry& shard : source.dataset.index.shards) {
      bytes += std::max<int64_t>(shard.raw_data.bytes, 0);
      samples += shard.samples;
    }
  }
  return std::max<int64_t>(1, memory_bytes / std::max<int64_t>(1, bytes / std::max<int64_t>(1, samples)));
}

bool IsOfTheShard(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kNotFound;
}

}  // namespace

StreamCounters Since(const StreamCounters& now, const StreamCounters& before) {
  return {.samples = now.samples - before.samples,
          .used_bytes = now.used_bytes - before.used_bytes,
          .skipped = now.skipped - before.skipped,
          .fetched_bytes = now.fetched_bytes - before.fetched_bytes,
          .fetched_shards = now.fetched_shards - before.fetched_shards,
          .fetched_samples = now.fetched_samples - before.fetched_samples,
          .cached_shards = now.cached_shards - before.cached_shards,
          .damaged_fetches = now.damaged_fetches - before.damaged_fetches,
          .unkept_shards = now.unkept_shards - before.unkept_shards,
          .waits = now.waits - before.waits,
          .wait_seconds = now.wait_seconds - before.wait_seconds,
          .cpu_seconds = now.cpu_seconds - before.cpu_seconds};
}

SampleStream::SampleStream(std::vector<StreamSource> sources, const StreamOptions& options)
    : sources_(std::move(sources)),
      options_(options),
      table_(sources_),
      horizon_(SamplesIn(options.memory_bytes / 2, sources_)),
      position_(options.begin),
      slots_(table_.size()) {}

Result<std::unique_ptr<SampleStream>> SampleStream::Open(std::vector<StreamSource> sources,
                                                         const StreamOptions& options, const StreamState* from) {
  int64_t samples = 0;
  for (const StreamSource& source : sources) {
    samples += source.dataset.index.samples();
  }
  if (samples > kMostSamples) {
    return Status::InvalidArgument(
        fmt::format("the data sets have {} samples: an epoch has {} at most", samples, kMostSamples));
  }
  std::unique_ptr<SampleStream> stream(new SampleStream(std::move(sources), options));
  if (options.rank < 0 || options.rank >= options.world.ranks()) {
    return Status::InvalidArgument(fmt::format("there is no rank {} of {}", options.rank, options.world.ranks()));
  }
  if (stream->table_.samples() < options.world.ranks()) {
    return Status::InvalidArgument(fmt::format("the data set has {} samples for {} ranks: take fewer ranks",
                                               stream->table_.samples(), options.world.ranks()));
  }
  OrderSettings settings = options.order;
  if (from != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(settings, GoOnWith(*from, settings, options.world, stream->sources_));
    stream->position_ = from->position;
    stream->counters_.skipped = from->skipped;
  }
  ASSAY_ASSIGN_OR_RETURN(stream->order_settings_, ResolveOrder(settings, options.world));
  if (!options.cache_folder.empty()) {
    ASSAY_ASSIGN_OR_RETURN(stream->cache_, DiskCache::Open(options.cache_folder, options.cache_bytes));
  }
  stream->loader_ =
      std::make_unique<ShardLoader>(stream->sources_, stream->table_, stream->cache_.get(), options.speed);
  ASSAY_RETURN_IF_ERROR(stream->BeginEpoch());
  for (int i = 0; i < options.threads; ++i) {
    stream->threads_.emplace_back([raw = stream.get()] { raw->Work(); });
  }
  return stream;
}

SampleStream::~SampleStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

Status SampleStream::BeginEpoch() {
  if (position_.initial_nodes == 0) {
    position_.initial_nodes = options_.world.nodes;
  }
  ASSAY_ASSIGN_OR_RETURN(EpochOrder order,
                         EpochOrder::Make(ShapesOf(sources_), order_settings_, options_.world, position_));
  order_ = std::move(order);
  const auto sample_at = [this](int64_t k) { return order_->OfRank(options_.rank, k); };
  plan_.emplace(table_, sample_at, order_->per_rank(), kLongestPlan);
  plan_->Extend(kFirstPlan);
  fetch_ = 0;
  for (uint32_t shard = 0; shard < slots_.size(); ++shard) {
    Slot& slot = slots_[shard];
    if (slot.state == SlotState::kFailed) {
      slot = {};  // the store may have it again
    }
    if (slot.until == UsePlan::kNever) {
      continue;
    }
    slot.until = 0;  // what there is of it is of the epoch before
    if (slot.state == SlotState::kHeld) {
      Release(shard);
    }
  }
  FetchAhead();
  return Status::Ok();
}

Status SampleStream::NextEpoch() {
  position_ = {.epoch = position_.epoch + 1};
  return BeginEpoch();
}

StreamState SampleStream::state() const {
  StreamState state{.position = position_,
                    .order = order_settings_,
                    .global_batch = options_.world.ranks() * order_settings_.batch,
                    .sources = StatesOf(sources_),
                    .skipped = counters_.skipped};
  state.position.samples =
      std::min(position_.samples + plan_->head() * options_.world.ranks(), std::max(order_->end(), position_.samples));
  return state;
}

int64_t SampleStream::left() const {
  int64_t end = plan_->count();
  while (end > plan_->head() && order_->OfRank(options_.rank, end - 1) < 0) {
    --end;
  }
  return end - plan_->head();
}

StreamCounters SampleStream::counters() const {
  StreamCounters counters = counters_;
  const LoadCounters& loads = loader_->counters();
  counters.fetched_bytes = loads.fetched_bytes;
  counters.fetched_shards = loads.fetched_shards;
  counters.fetched_samples = loads.fetched_samples;
  counters.cached_shards = loads.cached_shards;
  counters.damaged_fetches = loads.damaged_fetches;
  counters.unkept_shards = loads.unkept_shards;
  const std::lock_guard lock(mutex_);
  counters.cpu_seconds = cpu_seconds_;
  return counters;
}

Result<std::optional<StreamedSample>> SampleStream::Next() {
  while (plan_->head() < plan_->count()) {
    plan_->Extend(kPlanStep);
    const UsePlan::Use use = plan_->At(plan_->head());
    if (use.sample < 0) {
      plan_->Pop();
      continue;
    }
    if (plan_->head() % kFetchStep == 0) {
      FetchAhead();
    }
    Slot& slot = slots_[use.place.shard];
    while (slot.state != SlotState::kFailed && !Holds(use.place)) {
      if (slot.state == SlotState::kHeld) {
        Release(use.place.shard);
      }
      WaitFor(use.place.shard);
    }
    if (slot.state == SlotState::kFailed) {
      if (!options_.skip_damaged || !IsOfTheShard(slot.failed)) {
        return slot.failed;
      }
      ++counters_.skipped;
      plan_->Pop();
      continue;
    }
    const ShardTable::Shard& at = table_.shard(use.place.shard);
    StreamedSample sample{.number = use.sample,
                          .bytes = slot.shard.content->sample(use.place.index),
                          .schema = sources_[at.source].dataset.index.shards[at.number].schema.get(),
                          .owner = slot.shard.content};
    plan_->Pop();
    ++counters_.samples;
    counters_.used_bytes += static_cast<int64_t>(sample.bytes.size());
    return std::optional(std::move(sample));
  }
  return std::optional<StreamedSample>();
}

void SampleStream::FetchAhead() {
  TakeLoaded();
  fetch_ = std::max(fetch_, plan_->head());
  for (; fetch_ < plan_->end(); ++fetch_) {
    const UsePlan::Use& use = plan_->At(fetch_);
    const uint32_t shard = use.place.shard;
    if (use.sample < 0 || (slots_[shard].state != SlotState::kAbsent && fetch_ < slots_[shard].until)) {
      continue;
    }
    if (slots_[shard].state != SlotState::kAbsent) {
      // Other samples of it: those that are there are given first.
      if (slots_[shard].state != SlotState::kHeld || plan_->NextUse(shard) < slots_[shard].until) {
        break;
      }
      Release(shard);
    }
    if (asked_ >= 2 * options_.threads) {
      break;
    }
    Part part = PartOf(shard, fetch_);
    if (!MakeRoom(part.bytes, false, shard)) {
      break;
    }
    Ask(shard, std::move(part), false);
  }
}

SampleStream::Part SampleStream::PartOf(uint32_t shard, int64_t from) const {
  const int64_t until = std::min(plan_->end(), from + horizon_);
  if (until < from + horizon_ && until < plan_->count()) {
    return {.bytes = loader_->MemoryOf(shard)};  // it is not seen what is needed of it
  }
  std::vector<uint32_t> samples = plan_->NeededOf(shard, until);
  const auto count = static_cast<int64_t>(samples.size());
  if (!loader_->SamplesPay(shard, count)) {
    return {.bytes = loader_->MemoryOf(shard)};
  }
  return {.samples = std::move(samples), .until = until, .bytes = loader_->MemoryOfSome(shard, count)};
}

void SampleStream::Ask(uint32_t shard, Part part, bool first) {
  Slot& slot = slots_[shard];
  slot = {.state = SlotState::kAsked, .until = part.until, .asked_bytes = part.bytes};
  memory_ += part.bytes;
  ++asked_;
  {
    const std::lock_guard lock(mutex_);
    Asked asked{shard, std::move(part.samples)};
    first ? queue_.push_front(std::move(asked)) : queue_.push_back(std::move(asked));
  }
  work_.notify_one();
}

void SampleStream::Release(uint32_t shard) {
  memory_ -= slots_[shard].shard.memory_bytes;
  slots_[shard] = {};
  std::erase(held_, shard);
}

bool SampleStream::Holds(const ShardTable::Place& place) const {
  const Slot& slot = slots_[place.shard];
  return slot.state == SlotState::kHeld && slot.shard.content->has(place.index);
}

void SampleStream::TakeLoaded() {
  std::vector<Loaded> loaded;
  {
    const std::lock_guard lock(mutex_);
    loaded.swap(loaded_);
    if (cache_ && !loaded.empty()) {
      next_uses_.resize(table_.size());
      for (uint32_t shard = 0; shard < table_.size(); ++shard) {
        next_uses_[shard] = plan_->NextUse(shard);
      }
    }
  }
  for (Loaded& one : loaded) {
    Take(std::move(one));
  }
}

void SampleStream::Take(Loaded loaded) {
  Slot& slot = slots_[loaded.shard];
  --asked_;
  memory_ -= slot.asked_bytes;
  if (!loaded.result.ok()) {
    slot.state = SlotState::kFailed;
    slot.failed = loaded.result.status();
    slot.until = UsePlan::kNever;
    return;
  }
  slot.state = SlotState::kHeld;
  slot.shard = *std::move(loaded.result);
  if (slot.shard.content->present.empty()) {
    slot.until = UsePlan::kNever;  // it came whole
  }
  memory_ += slot.shard.memory_bytes;
  held_.push_back(loaded.shard);
}

void SampleStream::WaitFor(uint32_t shard) {
  TakeLoaded();
  if (slots_[shard].state == SlotState::kAbsent) {
    Part part = PartOf(shard, plan_->head());
    MakeRoom(part.bytes, true, shard);
    Ask(shard, std::move(part), true);
  }
  const double start = MonotonicSeconds();
  bool waited = false;
  while (slots_[shard].state == SlotState::kAsked) {
    {
      std::unique_lock lock(mutex_);
      waited |= loaded_.empty();
      ended_.wait(lock, [this] { return !loaded_.empty(); });
    }
    TakeLoaded();
  }
  if (waited) {
    ++counters_.waits;
    counters_.wait_seconds += MonotonicSeconds() - start;
  }
}

bool SampleStream::MakeRoom(int64_t bytes, bool force, uint32_t keep) {
  while (memory_ + bytes > options_.memory_bytes) {
    auto farthest = held_.end();
    int64_t use = force ? -1 : fetch_ - 1;  // what is needed before is kept
    for (auto shard = held_.begin(); shard != held_.end(); ++shard) {
      const int64_t next = plan_->NextUse(*shard);
      if (*shard != keep && next > use) {
        farthest = shard;
        use = next;
      }
    }
    if (farthest == held_.end()) {
      return force;
    }
    Release(*farthest);
  }
  return true;
}

void SampleStream::Work() {
  const auto next_use = [this](uint32_t shard) {
    const std::lock_guard lock(mutex_);
    return shard < next_uses_.size() ? next_uses_[shard] : UsePlan::kNever;
  };
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) {
      return;
    }
    const Asked asked = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const double begin = ThreadCpuSeconds();
    Result<LoadedShard> result =
        asked.samples.empty() ? loader_->Load(asked.shard, next_use) : loader_->LoadSome(asked.shard, asked.samples);
    const double computed = ThreadCpuSeconds() - begin;
    lock.lock();
    cpu_seconds_ += computed;
    loaded_.push_back({asked.shard, std::move(result)});
    ended_.notify_one();
  }
}

}  // namespace assay::shards
