#include "shards/convert/output.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "storage/integrity/checksum.h"
#include "storage/store_checks.h"

namespace assay::shards {
namespace {

using storage::Bytes;

/// Shards that are written at a time, beyond the first: their bytes. A disk takes no more by having more to do, and
/// memory that is used again is not cleared again.
constexpr int64_t kMostBytesUnderWay = int64_t{256} << 20;
constexpr int64_t kMostBytesUnderWayToDisks = int64_t{64} << 20;
/// Notes that are written at a time.
constexpr size_t kMostNotes = 8;

/// What is on its way when all is cancelled may have been received: a store is asked less often to forget it.
constexpr double kMomentSeconds = 1;
constexpr double kLookSeconds = 0.05;

bool AreDone(const std::vector<std::shared_ptr<storage::Transfer>>& writes) {
  return std::ranges::all_of(writes, [](const auto& write) { return write->done(); });
}

}  // namespace

ShardOutput::ShardOutput(const DatasetPlace& place, JobPool& pool, storage::Transfers& transfers, int threads,
                         std::vector<WrittenShard> written)
    : place_(place),
      transfers_(transfers),
      threads_(static_cast<size_t>(threads)),
      finishing_(pool),
      written_(std::move(written)) {}

ShardOutput::~ShardOutput() {
  for (const auto& queue : {writing_, noting_}) {
    for (const auto& shard : queue) {
      (void)WaitFor(*shard);
    }
  }
}

Status ShardOutput::WaitFor(const Shard& shard) {
  Status failed;
  for (const auto& write : shard.writes) {
    while (!write->WaitFor(kLookSeconds)) {
      if (storage::IsCancelled(place_.cancel)) {
        const double now = MonotonicSeconds();
        cut_off_at_ = cut_off_at_.value_or(now + kMomentSeconds);
        if (now >= *cut_off_at_) {
          write->Cancel();
        }
      }
    }
    // The others are waited for all the same: they read the shard's memory.
    if (const Status ended = write->Wait().status(); failed.ok()) {
      failed = ended;
    }
  }
  return failed;
}

int64_t ShardOutput::bytes_under_way() const {
  int64_t bytes = 0;
  for (const auto& shard : writing_) {
    bytes += shard->finished.entry.data().bytes;
  }
  return bytes;
}

Status ShardOutput::Give(BuiltShard built, const RowPosition& next) {
  auto shard = std::make_shared<Shard>(Shard{.built = std::move(built), .finished = {}, .next = next});
  finishing_.Give([shard]() -> Finished {
    Result<FinishedShard> finished = FinishShard(shard->built);
    if (!finished.ok()) {
      return {finished.status(), shard};
    }
    shard->finished = *std::move(finished);
    return {Status::Ok(), shard};
  });
  while (finishing_.size() >= threads_) {
    ASSAY_RETURN_IF_ERROR(BeginWrite());
  }
  return Status::Ok();
}

Status ShardOutput::BeginWrite() {
  auto [status, shard] = finishing_.Take();
  ASSAY_RETURN_IF_ERROR(status);
  while (!writing_.empty() && AreDone(writing_.front()->writes)) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  const int64_t most = place_.store->as_files() == nullptr ? kMostBytesUnderWay : kMostBytesUnderWayToDisks;
  while (!writing_.empty() && bytes_under_way() + shard->finished.entry.data().bytes > most) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  const FinishedShard& finished = shard->finished;
  const auto begin = [&](const FinishedShard::File& file, uint32_t crc32c, std::vector<Bytes> buffers) {
    storage::WriteOptions options{.expected = storage::MakeCrc32c(crc32c)};
    shard->writes.push_back(
        transfers_.Write(*place_.store, place_.Key(file.name), std::move(buffers), std::move(options)));
  };
  begin(finished.data, finished.proof.crc32c,
        finished.data.content.empty() ? shard->built.data() : std::vector<Bytes>{AsBytes(finished.data.content)});
  if (!finished.meta.name.empty()) {
    begin(finished.meta, finished.proof.meta_crc32c, {AsBytes(finished.meta.content)});
  }
  writing_.push_back(shard);
  return Status::Ok();
}

Status ShardOutput::EndWrite() {
  const std::shared_ptr<Shard> shard = writing_.front();
  writing_.pop_front();
  ASSAY_RETURN_IF_ERROR(WaitFor(*shard));
  const int64_t number = shard->built.number;
  written_.push_back({.entry = std::move(shard->finished.entry),
                      .proof = std::move(shard->finished.proof),
                      .records = std::move(shard->finished.records),
                      .next = shard->next});
  shard->built = {};
  shard->finished = {};
  shard->journal = FormatJournalEntry(written_.back());
  shard->writes = {transfers_.Write(*place_.store, place_.Key(JournalName(number)), {AsBytes(shard->journal)})};
  noting_.push_back(shard);
  if (noting_.size() > kMostNotes) {
    const std::shared_ptr<Shard> oldest = noting_.front();
    noting_.pop_front();
    return WaitFor(*oldest);
  }
  return Status::Ok();
}

Result<std::vector<WrittenShard>> ShardOutput::Finish() {
  while (!finishing_.empty()) {
    ASSAY_RETURN_IF_ERROR(BeginWrite());
  }
  while (!writing_.empty()) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  for (; !noting_.empty(); noting_.pop_front()) {
    ASSAY_RETURN_IF_ERROR(WaitFor(*noting_.front()));
  }
  return std::move(written_);
}

}  // namespace assay::shards
